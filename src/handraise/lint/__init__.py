"""Static checks of a server's source: they find mistakes in questions before anyone is asked."""

from handraise.lint.finding import Finding, LintRule
from handraise.lint.rules import RULES
from handraise.lint.run import EVERYTHING, RuleSelection, lint_paths, lint_text

__all__ = ["EVERYTHING", "RULES", "Finding", "LintRule", "RuleSelection", "lint_paths", "lint_text"]
