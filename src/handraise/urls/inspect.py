"""Judge a link: ok, warn or danger, with the reasons, and the form in which to show and open it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from handraise.display import for_line
from handraise.urls.asker import Asker, Transport, asker_of
from handraise.urls.brand_list import Brands, brand_list
from handraise.urls.imitation import check_imitation
from handraise.urls.international import check_international
from handraise.urls.network import check_network
from handraise.urls.parameters import check_parameters, read_parameters
from handraise.urls.parse import Link, parse_url, read_written, unicode_host
from handraise.urls.pieces import Piece, pieces_of
from handraise.urls.reasons import Verdict, in_order, verdict_of
from handraise.urls.redirects import check_redirects
from handraise.urls.sites import check_site
from handraise.urls.spelling import check_host_spelling, check_spelling


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is known about a link. `href` is the one form to show and to open.

    The link itself stays out of `repr`: it may carry a secret.
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    href: str | None = field(repr=False)
    registrable_domain: str | None
    host: str | None

    @property
    def may_be_opened(self) -> bool:
        """Whether a person may be offered to open it: it can be read, and is no danger."""
        return self.href is not None and self.verdict != "danger"

    @property
    def host_display(self) -> str | None:
        """The host with international names decoded, fit to be shown."""
        return None if self.host is None else for_line(unicode_host(self.host))

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The link in pieces, with the domain to be emphasised; joined together they are `href`."""
        return () if self.href is None else pieces_of(self.href, self.registrable_domain)


def inspect_url(
    url: str, *, transport: Transport = "http", server_host: str | None = None, brands: Collection[str] = ()
) -> Inspection:
    """Judge a link that a server sent.

    `transport` and `server_host` say where the server is. `brands` are domains to
    protect against imitation beside the well-known ones.
    """
    written = read_written(url)
    link = parse_url(written)
    if link is None:
        return _unreadable(in_order(("parse_failure", *check_spelling(written))))
    found = list(check_spelling(written))
    if link.parts.scheme in ("https:", "http:"):
        found += _check_web(link, asker_of(transport, server_host), brand_list(frozenset(brands)))
    else:
        found.append("scheme_not_allowed")
    reasons = in_order(found)
    return Inspection(
        verdict=verdict_of(reasons),
        reasons=reasons,
        href=link.href,
        registrable_domain=link.domain,
        host=link.host or None,
    )


def _check_web(link: Link, asker: Asker, brands: Brands) -> Iterator[str]:
    own = asker.owns(link)
    parameters = read_parameters(link)
    yield from check_host_spelling(link)
    yield from check_network(link, asker)
    yield from check_international(link, own=own)
    if not own and link.domain not in brands.domains:
        yield from check_imitation(link, brands, asker.domain)
        yield from check_site(link)
    yield from check_parameters(link, parameters)
    yield from check_redirects(link, parameters, asker, brands)


def _unreadable(reasons: tuple[str, ...]) -> Inspection:
    return Inspection("danger", reasons, None, None, None)
