"""What the rules say about forms and links, unless somebody sets them differently."""

from __future__ import annotations

from typing import Any

import pytest
from tests.policy.asked import NOTES, facts, form, link

from handraise.forms import Choice, Field, Flag, Text
from handraise.policy import Facts, Policy, PolicyRuling, Settings
from handraise.policy.settings import DeskSettings, FormSettings, LinkSettings
from handraise.questions import Origin, Question, UrlQuestion

STRICT = Settings(preset="strict")
NATIONAL_ID = Text("ssn", title="Social security number")


def _ruling(question: Question, settings: Settings | None = None, origin: Origin = NOTES) -> PolicyRuling:
    policy = Policy(settings)
    return policy.judge(facts(question, origin, policy))


@pytest.mark.shows("S1")
@pytest.mark.parametrize("name", ["password", "api_key", "card_number", "otp_code", "seed_phrase"])
def test_a_form_that_asks_for_a_credential_or_payment_data_is_refused(name: str) -> None:
    ruling = _ruling(form(Text(name)))
    assert (ruling.verdict, ruling.rules) == ("refuse", ("forms.credentials",))
    assert name in ruling.reasons[0]


@pytest.mark.shows("S3")
def test_a_doubtful_form_is_warned_of_unless_the_setting_says_otherwise() -> None:
    doubtful = form(Text("v", title="The thing you change every 90 days"), message="Before we start")
    ruling = _ruling(doubtful)
    assert (ruling.verdict, ruling.rules) == ("warn", ("forms.doubtful",))
    assert ruling.reasons == ("This may be asking for a password. Do not give one here.",)
    assert _ruling(doubtful, Settings(forms=FormSettings(doubtful="allow"))).verdict == "allow"
    assert _ruling(doubtful, Settings(forms=FormSettings(doubtful="refuse"))).verdict == "refuse"


@pytest.mark.shows("S2")
def test_a_national_id_is_warned_of() -> None:
    assert _ruling(form(NATIONAL_ID)).verdict == "warn"


@pytest.mark.shows("S2")
def test_contact_data_is_allowed_and_refused_by_the_strict_preset_like_national_ids() -> None:
    contact = form(Text("email", format="email"))
    assert _ruling(contact).verdict == "allow"
    for question, rule in ((contact, "forms.personal_data"), (form(NATIONAL_ID), "forms.national_ids")):
        strict = _ruling(question, STRICT)
        assert (strict.verdict, strict.rules) == ("refuse", (rule,))


@pytest.mark.shows("L6")
@pytest.mark.parametrize(
    "question",
    [
        pytest.param(form(message="Read https://example.org/terms first."), id="message"),
        pytest.param(form(message="Read ｈｔｔｐｓ：／／example.org first."), id="full width"),
        pytest.param(form(Text("a", title="www.example.org")), id="title"),
        pytest.param(form(Text("a", description="See http://example.org/")), id="description"),
        pytest.param(form(Choice("a", {"x": "ftp://example.org"})), id="option"),
    ],
)
def test_a_url_in_a_forms_text_is_warned_of(question: Question) -> None:
    assert _ruling(question).rules == ("forms.urls_in_text",)
    assert _ruling(question, Settings(forms=FormSettings(urls_in_text="refuse"))).verdict == "refuse"


@pytest.mark.parametrize(
    "field", [Text("site", format="uri", default="https://example.org/"), Text("a", title="and/or: file.txt")]
)
def test_ordinary_text_and_a_suggested_address_are_no_url_in_text(field: Field) -> None:
    assert _ruling(form(field)).verdict == "allow"


@pytest.mark.shows("L5")
def test_a_dangerous_link_is_refused_and_a_doubtful_one_warned_of() -> None:
    assert _ruling(link("https://github.com@evil.example/")).rules == ("links.dangerous",)
    assert _ruling(link("http://example.org/")).verdict == "warn"
    assert (
        _ruling(link("http://example.org/"), Settings(links=LinkSettings(doubtful="refuse"))).verdict
        == "refuse"
    )
    assert _ruling(link("https://example.org/")).verdict == "allow"


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        ("python notes.py", "allow"),
        ("http://localhost:8000/mcp", "allow"),
        ("https://shop.example/mcp", "refuse"),
        ("HTTPS://shop.example/mcp", "refuse"),
        ("", "refuse"),
    ],
)
def test_loopback_is_fine_from_a_local_server_and_refused_from_one_elsewhere(
    target: str, verdict: str
) -> None:
    assert _ruling(link("http://127.0.0.1:8765/"), origin=Origin("shop", target)).verdict == verdict


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        ("https://example.org/", "allow"),
        ("https://pay.example.org/", "allow"),
        ("https://badexample.org/", "refuse"),
        ("https://example.org.evil.example/", "refuse"),
    ],
)
def test_links_can_be_kept_to_some_domains(url: str, verdict: str) -> None:
    assert _ruling(link(url), Settings(links=LinkSettings(only=("example.org",)))).verdict == verdict


def test_names_of_ones_own_are_protected_against_imitation() -> None:
    url = "https://quarzbank.com.evil.example/"
    mine = Settings(links=LinkSettings(brands=("quarzbank.com",)))
    assert _ruling(link(url)).verdict == "allow"
    assert _ruling(link(url), mine).verdict == "refuse"


def test_a_link_that_nobody_looked_at_is_refused() -> None:
    assert Policy().judge(Facts(UrlQuestion("Look.", "https://example.org/"), NOTES)).verdict == "refuse"


def test_an_unsafe_switch_warns_when_it_is_used_and_still_warns_the_person() -> None:
    settings = Settings(
        forms=FormSettings(unsafe_credentials=True), links=LinkSettings(unsafe_dangerous=True)
    )
    with pytest.warns(UserWarning, match="unsafe_") as caught:
        policy = Policy(settings)
    assert len(caught) == 2
    assert policy.judge(facts(form(Text("password")), policy=policy)).verdict == "warn"
    assert policy.judge(facts(link("https://a@b.example/"), policy=policy)).verdict == "warn"


FLAG, TYPE_IT, PLAIN = form(Flag("answer")), form(Text("typed")), form(Text("name"))


@pytest.mark.shows("W9b")
@pytest.mark.parametrize(
    ("rule", "question", "more", "needs"),
    [
        ((), FLAG, {"guard": True, "shared": True}, False),
        (("guards",), FLAG, {}, True),
        (("guards",), TYPE_IT, {}, True),
        (("guards",), PLAIN, {"guard": True}, True),
        (("guards",), PLAIN, {"shared": True}, False),
        (("typed",), TYPE_IT, {}, True),
        (("typed",), FLAG, {"guard": True}, False),
        (("shared",), PLAIN, {"shared": True}, True),
        (("shared",), link("https://example.com/"), {"shared": True}, True),
        (("shared",), FLAG, {"guard": True}, False),
        (("guards", "typed"), link("https://example.com/"), {}, False),
        (("guards", "typed"), form(Text("typed"), Text("name")), {}, False),
    ],
)
def test_a_rule_says_which_questions_need_a_passkey(
    rule: Any, question: Question, more: Any, needs: bool
) -> None:
    policy = Policy(Settings(desk=DeskSettings(passkey=rule)))
    asked = policy.facts(question, NOTES, **more)
    ruling = policy.judge(asked)
    assert ruling.verdict == "allow"
    assert bool(ruling.passkey) is needs
    assert bool(dict(policy.explain(asked))["desk.passkey"].passkey) is needs
    assert (
        bool(Policy(policy.settings, rules=[]).judge(asked).passkey) is needs
    )  # whatever the other rules are
