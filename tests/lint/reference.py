"""The reference of the rules in docs/lint.md: `python -m tests.lint.reference` writes it anew."""

from __future__ import annotations

from pathlib import Path

from handraise.lint import RULES, LintRule

PAGE = Path(__file__).parents[2] / "docs/lint.md"
HEADING = "## Rules\n"
_SHOWN = "<!-- snippet: not run: it only shows the rule -->\n```python\n{}\n```\n"


def reference() -> str:
    """The section, from the rules themselves."""
    rows = "".join(f"| [{rule.code}](#{rule.code.lower()}) | {rule.title} |\n" for rule in RULES.values())
    return f"{HEADING}\n| code | what it finds |\n|---|---|\n{rows}\n" + "\n".join(
        map(_entry, RULES.values())
    )


def _entry(rule: LintRule) -> str:
    wrong, right = (_SHOWN.format(text.strip("\n")) for text in (rule.wrong, rule.right))
    said = f"**{rule.title.capitalize()}.** {rule.sentence} {rule.why}\n\nTo fix it: {rule.fix}\n"
    return f"### {rule.code}\n\n{said}\nWrong:\n\n{wrong}\nRight:\n\n{right}"


if __name__ == "__main__":
    written = PAGE.read_text(encoding="utf-8").partition(HEADING)[0]
    PAGE.write_text(written + reference(), encoding="utf-8")
