"""What can be read of an expression that becomes text, without running it."""

from __future__ import annotations

import ast

from handraise.lint.source import Source

GAP = "…"
"""Stands for what is known only at run time."""


def written_text(source: Source, expression: ast.expr | None, gap: str = GAP) -> str | None:
    """The text of a literal, an f-string, a sum of them or a name for one; None when nothing can be read."""
    match expression:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(written_text(source, part, gap) or gap for part in parts)
        case ast.FormattedValue(value=ast.Name() as name):
            return written_text(source, name, gap)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            texts = written_text(source, left, gap), written_text(source, right, gap)
            return None if texts == (None, None) else "".join(text or gap for text in texts)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
            return text
        case ast.Name():
            value = source.value_of(expression)
            return None if value is None or isinstance(value, ast.Name) else written_text(source, value, gap)
        case _:
            return None


def is_constant(source: Source, expression: ast.expr | None) -> bool:
    """Whether the text is the same at every run: it tells the person nothing that only the server knows."""
    text = written_text(source, expression, "\0")
    return text is not None and "\0" not in text and "{" not in text
