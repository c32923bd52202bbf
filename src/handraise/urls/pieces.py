"""A link in pieces, so that a desk can show all of it and set the domain apart."""

from __future__ import annotations

from typing import Literal, NamedTuple

from handraise.urls.parse import Link

PieceKind = Literal["scheme", "userinfo", "subdomain", "domain", "port", "path", "query", "fragment"]


class Piece(NamedTuple):
    """A stretch of the link. The one of kind `domain` is to be emphasised."""

    kind: PieceKind
    text: str


def pieces_of(link: Link) -> tuple[Piece, ...]:
    """The pieces in order; joined together they are `href` again."""
    has_authority = link.href.startswith("//", len(link.scheme) + 1)
    registered = len(link.host.rstrip(".")) - len(link.domain) if link.domain else 0
    pieces = (
        Piece("scheme", f"{link.scheme}://" if has_authority else f"{link.scheme}:"),
        Piece("userinfo", link.userinfo and f"{link.userinfo}@"),
        Piece("subdomain", link.host[:registered]),
        Piece("domain", link.host[registered:]),
        Piece("port", link.port and f":{link.port}"),
        Piece("path", link.path),
        Piece("query", link.query),
        Piece("fragment", link.fragment),
    )
    return tuple(piece for piece in pieces if piece.text)
