"""Who may ask at all, and how the parts make one ruling."""

from __future__ import annotations

import subprocess
import sys
from types import MappingProxyType

import pytest
from tests.policy.asked import NOTES, SHOP, facts, form

import handraise.policy
from handraise.forms import Text
from handraise.policy import OwnRule, Policy, Settings, standard_rules
from handraise.policy.settings import AskingRule, ServerSettings


def _naming(name: str, asking: AskingRule | None, default: AskingRule = "allow") -> Settings:
    return Settings(default=default, servers=MappingProxyType({name: ServerSettings(asking=asking)}))


def test_a_policy_without_rules_refuses_everything() -> None:
    assert Policy(rules=()).judge(facts()).verdict == "refuse"


def test_by_default_an_ordinary_question_is_allowed() -> None:
    assert Policy().judge(facts()).verdict == "allow"


@pytest.mark.shows("D5")
@pytest.mark.parametrize("keep", [True, False])
def test_a_blocked_server_is_refused_and_a_muted_one_without_a_word(keep: bool) -> None:
    policy = Policy()
    policy.remember(OwnRule("notes", "block"), keep=keep)
    policy.remember(OwnRule("shop", "mute"), keep=keep)
    blocked, muted = policy.judge(facts()), policy.judge(facts(origin=SHOP))
    assert (blocked.verdict, blocked.reasons, blocked.silent) == ("refuse", ("You blocked notes.",), False)
    assert (muted.verdict, muted.silent) == ("refuse", True)


@pytest.mark.shows("D5")
def test_a_rule_for_a_while_ends_by_itself() -> None:
    policy = Policy()
    policy.remember(OwnRule("notes", "block", made=10, until=20), keep=False)
    assert policy.judge(facts(now=19.9)).verdict == "refuse"
    assert policy.judge(facts(now=20)).verdict == "allow"


def test_a_persons_own_rule_goes_before_the_file_and_the_file_before_its_default() -> None:
    blocking = Policy(_naming("notes", "block"))
    assert blocking.judge(facts()).verdict == "refuse"
    blocking.remember(OwnRule("notes", "allow"), keep=False)
    assert blocking.judge(facts()).verdict == "allow"
    closed = Policy(_naming("notes", "allow", default="block"))
    assert closed.judge(facts()).verdict == "allow"
    assert closed.judge(facts(origin=SHOP)).reasons == ("No rule lets shop ask.",)


def test_naming_a_server_without_saying_whether_it_may_ask_leaves_the_default() -> None:
    assert Policy(_naming("notes", None, default="block")).judge(facts()).verdict == "refuse"


def test_allowing_a_server_allows_it_no_secrets() -> None:
    policy = Policy()
    policy.remember(OwnRule("notes", "allow"), keep=False)
    assert policy.judge(facts(form(Text("password")))).verdict == "refuse"


def test_one_persons_rule_is_not_anothers() -> None:
    policy = Policy()
    policy.remember(OwnRule("notes", "block", person="bob"), keep=False)
    assert policy.judge(facts()).verdict == "allow"


def test_own_rules_hold_even_when_the_other_rules_are_replaced() -> None:
    policy = Policy(rules=standard_rules(Settings()))
    policy.remember(OwnRule(NOTES.target, "block"), keep=False)
    assert policy.judge(facts()).verdict == "refuse"


def test_every_rule_is_explained_by_its_name() -> None:
    policy = Policy()
    said = dict(policy.explain(facts(form(Text("password"), message="See https://a.example"))))
    assert said["servers"].verdict == "allow"
    assert said["forms.credentials"].verdict == "refuse"
    assert said["forms.urls_in_text"].verdict == "warn"
    assert said["links.dangerous"].verdict == "allow"


@pytest.mark.parametrize("name", handraise.policy.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(handraise.policy, name) is not None
    assert name in dir(handraise.policy)


def test_looking_for_secrets_loads_neither_settings_nor_links() -> None:
    program = "import sys, handraise.secrets; print('tomllib' in sys.modules, 'ada_url' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
