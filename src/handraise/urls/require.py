"""The server's side: a link that no question may carry is refused where the question is made."""

from __future__ import annotations

import warnings
from typing import Final

from handraise.errors import UnsafeUrl
from handraise.urls.inspect import Inspection, inspect_url
from handraise.urls.reasons import REASONS

_FORBIDDEN: Final = frozenset(
    ("credentials_in_url", "pii_in_url", "presigned_url", "preauthenticated_url", "insecure_http")
)
"""What the protocol forbids to servers, though a client only warns of it."""


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
