"""May this be asked? Decide whether a question may reach the desk.

The names are loaded when they are first used. Code that only looks for secrets loads no settings, files or links.
"""

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
    from handraise.policy.policy import Policy
    from handraise.policy.rulebook import OwnRule, Rulebook
    from handraise.policy.rules import (
        ALLOW,
        Counts,
        Facts,
        PolicyRule,
        PolicyRuling,
        all_of,
        any_of,
        asked_by,
        not_,
        refuse,
        rule,
        warn,
    )
    from handraise.policy.settings import Settings
    from handraise.policy.standard import standard_rules
    from handraise.policy.tables import CancelIt, Headless, Park, RunHook

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
    "files": ("load_policy", "load_settings"),
    "limits": (
        "LimitDecision",
        "Admitted",
        "CountedQuestion",
        "JoinsWaiting",
        "RateLimits",
        "OverLimit",
        "sameness_of",
    ),
    "policy": ("Policy",),
    "rulebook": ("OwnRule", "Rulebook"),
    "rules": (
        "ALLOW",
        "Counts",
        "Facts",
        "PolicyRule",
        "PolicyRuling",
        "all_of",
        "any_of",
        "asked_by",
        "not_",
        "refuse",
        "rule",
        "warn",
    ),
    "settings": ("Settings",),
    "standard": ("standard_rules",),
    "tables": ("CancelIt", "Headless", "Park", "RunHook"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'handraise.policy' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"handraise.policy.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
