"""What a session declares: exactly what the desk can show, and roots only where there are any."""

from __future__ import annotations

from collections.abc import Collection

import mcp_types as types
from mcp import ClientSession

from handraise.client.consent import Consent
from handraise.revisions import Revision
from handraise.wire import Capabilities, dump_capabilities


def declare_exactly(session: ClientSession, consent: Consent) -> None:
    """Have a session declare the modes of `consent` and no others.

    The SDK declares both modes whenever there is a callback and has no knob for it, so its `_build_capabilities`
    is put right here. That method is private; a test pins it.
    """
    declare = session._build_capabilities

    def declare_modes(version: str) -> types.ClientCapabilities:
        capabilities, revision = declare(version), Revision(version)
        capabilities.elicitation = elicitation_capability(consent.modes, revision)
        capabilities.roots = _roots(consent, revision)
        return capabilities

    session._build_capabilities = declare_modes  # type: ignore[method-assign]


def elicitation_capability(modes: Collection[str], revision: Revision) -> types.ElicitationCapability | None:
    """How these modes are declared on that revision; None where there is nothing to declare."""
    declared = dump_capabilities(Capabilities(form="form" in modes, url="url" in modes), revision).get(
        "elicitation"
    )
    return None if declared is None else types.ElicitationCapability.model_validate(declared)


def _roots(consent: Consent, revision: Revision) -> types.RootsCapability | None:
    if consent.roots is None:
        return None
    return types.RootsCapability(list_changed=True) if revision.legacy else types.RootsCapability()
