"""Judge a link: ok, warn or danger, with the reasons, and the form in which to show and open it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from handraise.display import for_line
from handraise.errors import UnsafeUrl
from handraise.urls.imitation import BrandTable, brand_list, check_imitation
from handraise.urls.international import check_international
from handraise.urls.network import LinkSender, LinkTransport, check_network, check_site, sender_of
from handraise.urls.parameters import check_parameters, check_redirects, read_parameters
from handraise.urls.parse import ParsedUrl, UrlPiece, parse_url, pieces_of, read_written, unicode_host
from handraise.urls.reasons import REASONS, UrlVerdict, in_order, verdict_of
from handraise.urls.spelling import check_host_spelling, check_spelling


@dataclass(frozen=True, slots=True)
class Inspection:
    """The facts about a link. `href` is the one form to show and to open.

    The link itself stays out of `repr`: it may carry a secret.
    """

    verdict: UrlVerdict
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
    def pieces(self) -> tuple[UrlPiece, ...]:
        """The link in pieces, with the domain to be emphasised; joined together they are `href`."""
        return () if self.href is None else pieces_of(self.href, self.registrable_domain)


def inspect_url(
    url: str,
    *,
    transport: LinkTransport = "http",
    server_host: str | None = None,
    brands: Collection[str] = (),
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
        found += _check_web(link, sender_of(transport, server_host), brand_list(frozenset(brands)))
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


def _check_web(link: ParsedUrl, asker: LinkSender, brands: BrandTable) -> Iterator[str]:
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


_FORBIDDEN: Final = frozenset(
    ("credentials_in_url", "pii_in_url", "presigned_url", "preauthenticated_url", "insecure_http")
)
"""Findings that the protocol forbids to servers. A client only warns of them."""


def require_safe_url(
    url: str, *, unsafe_plain_http: bool = False, server_host: str | None = None
) -> Inspection:
    """Check a link that this server is about to send, and give back its inspection.

    The protocol: a server MUST NOT put personal data or credentials into the URL,
    MUST NOT send one that is already authenticated, and SHOULD use https outside
    development. Loopback is development. Raises `UnsafeUrl`, which names the
    reasons and never the link.
    """
    inspection = inspect_url(url, transport="stdio", server_host=server_host)
    reasons = [
        reason
        for reason in inspection.reasons
        if reason in _FORBIDDEN or REASONS[reason].severity == "danger"
    ]
    if unsafe_plain_http and "insecure_http" in reasons:
        warnings.warn("unsafe_plain_http lets a link without encryption through", stacklevel=2)
        reasons.remove("insecure_http")
    if reasons:
        sentences = " ".join(REASONS[reason].sentence for reason in reasons)
        raise UnsafeUrl(f"This link may not be sent. {sentences}", reasons=tuple(reasons))
    return inspection
