"""May this be asked? What decides whether a question may reach the desk."""

from handraise.policy.facts import Counts, Facts
from handraise.policy.files import load_policy, load_settings
from handraise.policy.headless import CancelIt, Headless, Park, RunHook
from handraise.policy.limits import Admission, Admitted, Ask, Folded, Limits, TooMuch, sameness_of
from handraise.policy.policy import Policy
from handraise.policy.rulebook import OwnRule, Rulebook
from handraise.policy.rules import Rule, all_of, any_of, asked_by, not_, rule
from handraise.policy.rulings import ALLOW, Ruling, refuse, warn
from handraise.policy.settings import Settings
from handraise.policy.standard_rules import standard_rules

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
