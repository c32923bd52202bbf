"""What the linter says about a few lines."""

from __future__ import annotations

from textwrap import dedent

from handraise.lint import lint_text


def codes(text: str) -> list[str]:
    """The codes of what is found, in order."""
    return [finding.code for finding in lint_text(dedent(text))]


def in_tool(*lines: str, parameters: str = "name: str") -> str:
    """A tool with these lines in its body."""
    body = "\n".join(f"    {line}" for text in lines for line in text.splitlines())
    return f"@server.tool()\nasync def rename({parameters}) -> str:\n{body}\n"
