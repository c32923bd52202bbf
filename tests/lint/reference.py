"""The pages about the rules, in docs/lint: `python -m tests.lint.reference` writes them anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from handraise.lint import RULES, LintRule

PAGE: Final = Path(__file__).parents[2] / "docs/lint.md"
HEADING: Final = "## Rules\n"
FOLDER: Final = PAGE.with_suffix("")
GROUPS: Final = {
    "forms": (
        "forms",
        ("HR0", "HR1"),
        "Correct a form that a client cannot show, or that asks for a secret.",
    ),
    "answers": ("answers", ("HR2",), "Correct code that does not look at the person's answer."),
    "links": ("links", ("HR3",), "Correct a link that is unsafe, or that stands in a form."),
    "revisions": (
        "revisions",
        ("HR4",),
        "Correct code that works on one revision of the protocol and fails on another.",
    ),
    "when-to-ask": (
        "when to ask",
        ("HR5",),
        "Correct a question that should not be asked, or a tool that should ask.",
    ),
}
"""The pages: title, codes, and the first sentence of each."""
_NOTICE: Final = "<!-- Made by `python -m tests.lint.reference` from the rules; edits here are lost. -->"
_SHOWN: Final = "<!-- snippet: not run: it only shows the rule -->\n```python\n{}\n```\n"


def reference() -> Mapping[Path, str]:
    """The text of each page about the rules, and of the end of the page about the linter."""
    pages = {FOLDER / f"{name}.md": _page(name) for name in GROUPS}
    return {PAGE: PAGE.read_text(encoding="utf-8").partition(HEADING)[0] + _listed(), **pages}


def _listed() -> str:
    """The section that lists every rule."""
    rows = "".join(
        f"| [{rule.code}](lint/{name}.md#{rule.code.lower()}) | {rule.title} |\n"
        for name in GROUPS
        for rule in _rules(name)
    )
    return f"{HEADING}\n| code | finds |\n|---|---|\n{rows}"


def _rules(name: str) -> Iterator[LintRule]:
    _, codes, _ = GROUPS[name]
    return (rule for rule in RULES.values() if rule.code.startswith(codes))


def _page(name: str) -> str:
    title, _, first = GROUPS[name]
    head = f"# Lint rules: {title}\n\n{_NOTICE}\n\n"
    about = f"{first} [The linter](../lint.md) says how to run it, and how to accept a line.\n\n"
    return head + about + "\n".join(map(_entry, _rules(name)))


def _entry(rule: LintRule) -> str:
    wrong, right = (_SHOWN.format(text.strip("\n")) for text in (rule.wrong, rule.right))
    said = f"**{rule.title.capitalize()}.** {rule.sentence} {rule.why}\n\nTo fix it: {rule.fix}\n"
    return f"## {rule.code}\n\n{said}\nWrong:\n\n{wrong}\nRight:\n\n{right}"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in reference().items():
        path.write_text(text, encoding="utf-8")
