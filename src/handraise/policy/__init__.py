"""May this be asked? Decide whether a question may reach the desk.

Names are loaded when they are first used: a gateway that starts loads `places` alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handraise.policy.files import load_policy as load_policy
    from handraise.policy.files import load_settings as load_settings
    from handraise.policy.limits import Admitted as Admitted
    from handraise.policy.limits import CountedQuestion as CountedQuestion
    from handraise.policy.limits import JoinsWaiting as JoinsWaiting
    from handraise.policy.limits import LimitDecision as LimitDecision
    from handraise.policy.limits import OverLimit as OverLimit
    from handraise.policy.limits import RateLimits as RateLimits
    from handraise.policy.limits import sameness_of as sameness_of
    from handraise.policy.policy import Policy as Policy
    from handraise.policy.policy import standard_rules as standard_rules
    from handraise.policy.rules import ALLOW as ALLOW
    from handraise.policy.rules import Counts as Counts
    from handraise.policy.rules import Facts as Facts
    from handraise.policy.rules import OwnRule as OwnRule
    from handraise.policy.rules import PolicyRule as PolicyRule
    from handraise.policy.rules import PolicyRuling as PolicyRuling
    from handraise.policy.rules import Rulebook as Rulebook
    from handraise.policy.rules import all_of as all_of
    from handraise.policy.rules import any_of as any_of
    from handraise.policy.rules import asked_by as asked_by
    from handraise.policy.rules import not_ as not_
    from handraise.policy.rules import refuse as refuse
    from handraise.policy.rules import rule as rule
    from handraise.policy.rules import warn as warn
    from handraise.policy.settings import CancelIt as CancelIt
    from handraise.policy.settings import Headless as Headless
    from handraise.policy.settings import Park as Park
    from handraise.policy.settings import RunHook as RunHook
    from handraise.policy.settings import Settings as Settings

_NAMES = {
    "files": "load_policy load_settings",
    "limits": "Admitted CountedQuestion JoinsWaiting LimitDecision OverLimit RateLimits sameness_of",
    "policy": "Policy standard_rules",
    "rules": "ALLOW Counts Facts OwnRule PolicyRule PolicyRuling Rulebook all_of any_of asked_by not_ refuse rule warn",
    "settings": "CancelIt Headless Park RunHook Settings",
}
"""The public names of each module."""
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
