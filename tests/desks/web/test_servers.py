"""The page for servers and rules: who asked, what each may do, and taking rules back."""

from __future__ import annotations

import html
import re
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from tests.desks.web import samples
from tests.desks.web.visitor import Office, Visitor, open_office

from handraise.desks import Decision
from handraise.desks.codes import AnswerCode
from handraise.desks.gate import PolicyGate
from handraise.desks.passkeys import PasskeyFile
from handraise.desks.web.sessions import PasskeyTask
from handraise.policy import OwnRule, Policy, Settings
from handraise.policy.files import OwnRules
from handraise.policy.settings import LimitSettings, ServerSettings
from handraise.questions import Cancelled, Declined

SETTINGS = Settings(
    servers={
        "notes": ServerSettings(limits=LimitSettings(per_hour=7)),
        "old": ServerSettings(asking="mute"),
    }
)


@pytest.fixture
def gate(tmp_path: Path) -> PolicyGate:
    return PolicyGate(Policy(SETTINGS, own=OwnRules(tmp_path / "rules.json")))


@pytest.fixture
async def office(gate: PolicyGate) -> AsyncIterator[Office]:
    async with open_office(gate, AnswerCode()) as opened:
        yield opened


async def visit(office: Office) -> str:
    path = f"{office.visitor.place}servers"
    assert (await office.visitor.get(path)).status_code == 200
    return path


def server(office: Office, name: str) -> str:
    """The name by which the page knows a server."""
    found = re.search(
        rf'id="s-([0-9a-f]+)">\s*<h2 class="asker"><bdi>{re.escape(name)}</bdi>', office.visitor.page
    )
    assert found, name
    return found[1]


def card(office: Office, name: str) -> str:
    return office.visitor.page.partition(f'id="s-{server(office, name)}"')[2].partition("</li>\n  <li class")[
        0
    ]


@pytest.mark.shows("D5", "D6")
async def test_every_server_that_asked_is_listed_with_what_it_may_do_and_its_limits(
    office: Office, gate: PolicyGate
) -> None:
    gate.admit(samples.short(), time.time())
    await office.put(samples.short(), samples.link())
    await visit(office)
    assert "May ask" in card(office, "notes")
    assert "uvx notes-server" in card(office, "notes")
    assert "1 question in the last hour." in card(office, "notes")
    assert "10 questions a minute, 7 an hour" in card(office, "notes")
    assert "10 questions a minute, 60 an hour" in card(office, "shop")
    assert "So says handraise.toml." in card(office, "old")


@pytest.mark.shows("D5")
@pytest.mark.parametrize("how_long", ["session", "always"])
async def test_a_rule_is_made_and_taken_back(
    office: Office, gate: PolicyGate, how_long: str, tmp_path: Path
) -> None:
    await office.put(samples.short())
    path = await visit(office)
    values = {"server": server(office, "notes"), "do": "make", "asking": "mute", "for": how_long}
    response = await office.visitor.post(path, values)
    await office.visitor.get(response.headers["location"])
    assert "notes is muted" in office.visitor.page
    lasts = "until you undo it" if how_long == "always" else "until this session ends"
    assert f"Your own rule {lasts}, made just now." in card(office, "notes")
    assert gate.admit(samples.short("next"), time.time()).silent
    kept = OwnRules(tmp_path / "rules.json").book().entries
    assert len(kept) == (1 if how_long == "always" else 0)
    response = await office.visitor.post(path, {"server": server(office, "notes"), "do": "undo"})
    await office.visitor.get(response.headers["location"])
    assert "notes may ask" in office.visitor.page
    assert gate.admit(samples.short("again"), time.time()).verdict == "allow"


@pytest.mark.shows("D5")
async def test_a_block_made_at_a_question_is_found_here_and_can_be_undone(
    office: Office, gate: PolicyGate
) -> None:
    waiting = samples.short()
    [path] = await office.put(waiting)
    await office.visitor.get(path)
    assert f'href="{office.visitor.place}servers"' in office.visitor.page
    await office.visitor.post(path, {"do": "block-always"})
    gate.decided(waiting, await office.decided(), time.time())
    await office.visitor.get(path)
    assert "Who may ask" in office.visitor.page
    path = await visit(office)
    assert "Blocked" in card(office, "notes")
    await office.visitor.post(path, {"server": server(office, "notes"), "do": "undo"})
    assert gate.policy.own.book().entries == ()


@pytest.mark.parametrize(
    "values", [{}, {"asking": "block"}, {"for": "always"}, {"asking": "all", "for": "x"}]
)
async def test_a_rule_that_is_not_whole_is_not_made(
    office: Office, gate: PolicyGate, values: dict[str, str]
) -> None:
    await office.put(samples.short())
    path = await visit(office)
    response = await office.visitor.post(path, {"server": server(office, "notes"), "do": "make", **values})
    assert response.status_code == 422
    assert "Choose what it may do, and for how long." in office.visitor.page
    assert gate.policy.own.book().entries == ()


async def test_an_unknown_server_or_button_changes_nothing(office: Office, gate: PolicyGate) -> None:
    await office.put(samples.short())
    path = await visit(office)
    notes, rule = server(office, "notes"), {"do": "make", "asking": "allow", "for": "always"}
    assert (await office.visitor.post(path, {"server": "0" * 32, **rule})).status_code == 404
    assert (await office.visitor.post(path, {"server": notes})).status_code == 400
    assert (await office.visitor.post(path, {"server": notes, "csrf": "no", **rule})).status_code == 403
    assert gate.policy.own.book().entries == ()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": None}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
    ],
)
async def test_no_rule_is_made_by_another_site_or_a_rebound_name(
    office: Office, gate: PolicyGate, headers: dict[str, str | None], status: int
) -> None:
    await office.put(samples.short())
    path = await visit(office)
    rule = f"csrf={office.visitor.csrf}&server={server(office, 'notes')}&do=make&asking=allow&for=always"
    assert (await office.visitor.send("POST", path, rule, headers)).status_code == status
    assert gate.policy.own.book().entries == ()
    assert (await office.visitor.send("POST", path, rule)).status_code == 303, "it was only the headers"


async def test_a_second_local_user_without_the_link_sees_no_server_and_makes_no_rule(
    office: Office, gate: PolicyGate
) -> None:
    await office.put(samples.short())
    path = await visit(office)
    rule = {"server": server(office, "notes"), "do": "make", "asking": "allow", "for": "always"}
    stranger = Visitor(office.desk, csrf=office.visitor.csrf)
    response = await stranger.get(path)
    assert response.status_code == 403
    assert "notes" not in response.text
    assert (await stranger.post(path, rule)).status_code == 403
    assert gate.policy.own.book().entries == ()


async def test_the_page_cannot_be_framed(office: Office) -> None:
    response = await office.visitor.get(await visit(office))
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
    assert response.headers["x-frame-options"] == "DENY"


async def test_a_rule_about_a_server_that_never_asked_is_listed_too(office: Office, gate: PolicyGate) -> None:
    gate.policy.remember(OwnRule("chatty", "block", made=time.time()), keep=True)
    await visit(office)
    assert "Blocked" in card(office, "chatty")


async def test_quiet_time_after_a_decline_is_shown(office: Office, gate: PolicyGate) -> None:
    waiting = samples.short()
    gate.admit(waiting, time.time())
    gate.decided(waiting, Decision(Declined()), time.time())
    await office.put(waiting)
    await visit(office)
    assert "it has to be quiet for 5 s more" in card(office, "notes")


@pytest.mark.shows("D9")
async def test_the_code_for_answering_by_id_is_shown_to_whoever_is_signed_in(gate: PolicyGate) -> None:
    code = AnswerCode()
    async with open_office(gate, code) as office:
        await office.visitor.get(office.visitor.place)
        assert code.shown() in office.visitor.page
        office.visitor.cookie = None
        await office.visitor.get(office.visitor.place)
        assert code.shown() not in office.visitor.page


async def test_a_desk_without_a_policy_has_no_such_page() -> None:
    async with open_office() as office:
        assert "servers" not in office.visitor.page
        assert (await office.visitor.get(f"{office.visitor.place}servers")).status_code == 404


async def test_no_page_of_a_german_browser_has_a_word_of_english(tmp_path: Path, gate: PolicyGate) -> None:
    kept = PasskeyFile(tmp_path / "passkeys.json")
    async with open_office(gate, AnswerCode(), passkeys=kept) as office:
        visitor, speaks = office.visitor, {"accept-language": "de"}
        doubtful = "This may be asking for a password. Do not give one here."
        paths = await office.put(
            samples.homograph(),
            replace(samples.seven(), warnings=(doubtful,)),
            replace(samples.confirm(), passkey=True),
        )
        office.queue.tell(samples.short("x"), Decision(Cancelled(), by="policy", reason="You blocked notes."))
        gate.policy.remember(OwnRule("notes", "block", made=time.time(), person=""), keep=True)
        link = urlsplit(office.desk.sign_in_url()).path
        used = urlsplit(office.desk.sign_in_url(samples.PERSON, PasskeyTask("add", "laptop"))).path
        asked = [link, visitor.place, *paths]
        asked += [f"{visitor.place}{page}" for page in ("history", "q/0", "passkey", "servers")]
        seen = {path: (await visitor.send("GET", path, headers=speaks)).text for path in asked}
        bad = {"csrf": visitor.csrf, "server": server(office, "old"), "do": "make"}
        posted = await visitor.send("POST", f"{visitor.place}servers", urlencode(bad), headers=speaks)
        seen["a rule without its time"] = posted.text
        await visitor.sign_in(used)
        for path in (f"{visitor.place}passkey", used):
            seen[path] = (await visitor.send("GET", path, headers=speaks)).text
        for path, page in seen.items():
            words = re.sub(r"<[^>]*>", "\n", page)
            past = [one for one, _ in office.queue.past()]
            for one in (*past, *office.queue.waiting()):  # a server's own words stay as they are
                words = words.replace(html.escape(one.question.message), "")
            assert re.findall(r".*\b(?:the|this|your|you|asks?|is|it|and|of)\b.*", words, re.I) == [], path
