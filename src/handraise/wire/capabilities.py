"""What a client says it can be asked for.

`elicitation: {}` means forms only, on every revision; URL mode exists from 2025-11-25 on.
On 2026-07-28 the capabilities come with each request, in its `_meta`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from handraise.errors import Mode, WireError
from handraise.revisions import Revision

CAPABILITIES_META_KEY: Final = "io.modelcontextprotocol/clientCapabilities"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The modes and input requests that a client declared."""

    form: bool = False
    url: bool = False
    roots: bool = False
    sampling: bool = False
    implied: bool = field(default=False, compare=False)
    """Whether form mode was declared by an empty object, as all of 2025-06-18 does."""

    def supports(self, mode: Mode) -> bool:
        """Whether the client may be sent this."""
        return bool(getattr(self, mode))


def parse_capabilities(raw: object, revision: Revision) -> Capabilities:
    """What a `ClientCapabilities` object declares; nothing when there is none."""
    if raw is None:
        return Capabilities()
    declared = _object(raw, "capabilities")
    elicitation = declared.get("elicitation")
    modes = None if elicitation is None else _object(elicitation, "elicitation")
    url = modes is not None and revision.url_mode and modes.get("url") is not None
    explicit = modes is not None and revision.url_mode and modes.get("form") is not None
    return Capabilities(
        form=modes is not None and (explicit or not url),
        url=url,
        roots=declared.get("roots") is not None,
        sampling=declared.get("sampling") is not None,
        implied=modes is not None and not explicit and not url,
    )


def dump_capabilities(capabilities: Capabilities, revision: Revision) -> dict[str, Any]:
    """A `ClientCapabilities` object that declares exactly this."""
    dumped: dict[str, Any] = {}
    if capabilities.form or capabilities.url:
        dumped["elicitation"] = _modes(capabilities, revision)
    if capabilities.roots:
        dumped["roots"] = {}
    if capabilities.sampling:
        dumped["sampling"] = {}
    if not revision.url_mode and not capabilities.form:
        dumped.pop("elicitation", None)
    return dumped


def dump_missing_capability(modes: Iterable[Mode]) -> dict[str, Any]:
    """The `data` of a -32021: what the client would have to declare."""
    needed = dict.fromkeys(modes, True)
    return {"requiredCapabilities": dump_capabilities(Capabilities(**needed), Revision.JULY_2026)}


def parse_missing_capability(data: object) -> Capabilities:
    """What a -32021 says that the client would have to declare."""
    required = _object(data, "data").get("requiredCapabilities")
    return parse_capabilities(_object(required, "requiredCapabilities"), Revision.JULY_2026)


def _modes(capabilities: Capabilities, revision: Revision) -> dict[str, Any]:
    if capabilities.implied or not revision.url_mode:
        return {}
    return {mode: {} for mode in ("form", "url") if capabilities.supports(mode)}


def _object(raw: object, what: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise WireError("capabilities", f"{what} must be a JSON object.")
    return raw
