"""A link in pieces, so that a desk can show all of it and set the domain apart."""

from __future__ import annotations

from typing import Literal, NamedTuple

from handraise.urls.parse import split_href

PieceKind = Literal["scheme", "userinfo", "subdomain", "domain", "port", "path", "query", "fragment"]


class Piece(NamedTuple):
    """A stretch of the link. The one of kind `domain` is to be emphasised."""

    kind: PieceKind
    text: str


def pieces_of(href: str, domain: str | None) -> tuple[Piece, ...]:
    """The pieces of a serialised link in order; joined together they are the link again."""
    parts = split_href(href)
    registered = len(parts.host.rstrip(".")) - len(domain) if domain else 0
    pieces = (
        Piece("scheme", parts.scheme + parts.slashes),
        Piece("userinfo", parts.userinfo),
        Piece("subdomain", parts.host[:registered]),
        Piece("domain", parts.host[registered:]),
        Piece("port", parts.port),
        Piece("path", parts.path),
        Piece("query", parts.query),
        Piece("fragment", parts.fragment),
    )
    return tuple(piece for piece in pieces if piece.text)
