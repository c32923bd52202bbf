"""Static checks of a server's source: they find mistakes in questions before anyone is asked."""

from handraise.lint.rules import RULES
from handraise.lint.run import EVERYTHING, RuleSelection, lint_paths, lint_text
from handraise.lint.source import Finding, LintRule

__all__ = ["EVERYTHING", "RULES", "Finding", "LintRule", "RuleSelection", "lint_paths", "lint_text"]
