"""Static checks of a server's source: what goes wrong when it asks a person, found before anyone is asked."""

from handraise.lint.finding import Finding, Rule
from handraise.lint.rules import RULES
from handraise.lint.run import EVERYTHING, Selection, lint_paths, lint_text

__all__ = ["EVERYTHING", "RULES", "Finding", "Rule", "Selection", "lint_paths", "lint_text"]
