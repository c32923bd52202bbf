"""For host authors: a callback that asks the person safely, and a client around it.

Names are loaded when they are first used: the gateway asks by the same means, and needs no client of the SDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handraise.client.consent import Consent
    from handraise.client.consent_client import ConsentClient
    from handraise.client.roots import Roots

__all__ = ["Consent", "ConsentClient", "Roots"]

_HOMES = {"Consent": "consent", "ConsentClient": "consent_client", "Roots": "roots"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
