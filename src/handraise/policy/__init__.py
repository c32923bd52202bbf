"""May this be asked? What decides whether a question may reach the desk.

The names are loaded when they are first used: whoever only looks for secrets needs no settings, files or links.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handraise.policy.facts import Counts, Facts
    from handraise.policy.files import load_policy, load_settings
    from handraise.policy.headless import CancelIt, Headless, Park, RunHook
    from handraise.policy.limits import Admission, Admitted, Ask, Folded, Limits, TooMuch, sameness_of
    from handraise.policy.policy import Policy
    from handraise.policy.rulebook import OwnRule, Rulebook
    from handraise.policy.rules import Rule, all_of, any_of, asked_by, not_, rule
    from handraise.policy.rulings import ALLOW, Ruling, refuse, warn
    from handraise.policy.settings import Settings
    from handraise.policy.standard import standard_rules

__all__ = [
    "ALLOW",
    "Admission",
    "Admitted",
    "Ask",
    "CancelIt",
    "Counts",
    "Facts",
    "Folded",
    "Headless",
    "Limits",
    "OwnRule",
    "Park",
    "Policy",
    "Rule",
    "Rulebook",
    "Ruling",
    "RunHook",
    "Settings",
    "TooMuch",
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
    "facts": ("Counts", "Facts"),
    "files": ("load_policy", "load_settings"),
    "headless": ("CancelIt", "Headless", "Park", "RunHook"),
    "limits": ("Admission", "Admitted", "Ask", "Folded", "Limits", "TooMuch", "sameness_of"),
    "policy": ("Policy",),
    "rulebook": ("OwnRule", "Rulebook"),
    "rules": ("Rule", "all_of", "any_of", "asked_by", "not_", "rule"),
    "rulings": ("ALLOW", "Ruling", "refuse", "warn"),
    "settings": ("Settings",),
    "standard": ("standard_rules",),
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
