"""May this be asked? Decide whether a question may reach the desk.

Names are loaded when they are first used: a gateway that starts loads `places` alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handraise.policy.files import load_policy, load_settings
    from handraise.policy.limits import (
        Admitted,
        CountedQuestion,
        JoinsWaiting,
        LimitDecision,
        OverLimit,
        RateLimits,
        sameness_of,
    )
    from handraise.policy.policy import Policy, standard_rules
    from handraise.policy.rules import (
        ALLOW,
        Counts,
        Facts,
        OwnRule,
        PolicyRule,
        PolicyRuling,
        Rulebook,
        all_of,
        any_of,
        asked_by,
        not_,
        refuse,
        rule,
        warn,
    )
    from handraise.policy.settings import CancelIt, Headless, Park, RunHook, Settings

__all__ = [
    "ALLOW",
    "Admitted",
    "CancelIt",
    "CountedQuestion",
    "Counts",
    "Facts",
    "Headless",
    "JoinsWaiting",
    "LimitDecision",
    "OverLimit",
    "OwnRule",
    "Park",
    "Policy",
    "PolicyRule",
    "PolicyRuling",
    "RateLimits",
    "Rulebook",
    "RunHook",
    "Settings",
    "all_of",
    "any_of",
    "asked_by",
    "load_policy",
    "load_settings",
    "not_",
    "refuse",
    "rule",
    "sameness_of",
    "standard_rules",
    "warn",
]

_HOMES = {
    **dict.fromkeys(("load_policy", "load_settings"), "files"),
    **dict.fromkeys(("Admitted", "CountedQuestion", "JoinsWaiting", "LimitDecision"), "limits"),
    **dict.fromkeys(("OverLimit", "RateLimits", "sameness_of"), "limits"),
    **dict.fromkeys(("CancelIt", "Headless", "Park", "RunHook", "Settings"), "settings"),
    "Policy": "policy",
    "standard_rules": "policy",
}
"""The module of each name that is not in `rules`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'rules')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
