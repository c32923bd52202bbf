"""Habits of real clients that a server and the gateway have to live with: one short session for each.

For `make clients`, which installs the clients.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.clients.dialogs import DIALOGS, Act
from tests.clients.drivers import DRIVERS
from tests.clients.scenarios import AT_DESK, IN_CLIENT, TIMER, TOLD, judge
from tests.clients.session import SERVER, Driver, Launch, Place, Seen, Way, run
from tests.clients.stand_in import Step
from tests.command import HANDRAISE, ROOT

pytestmark = [pytest.mark.client, pytest.mark.stranger, pytest.mark.slow]

CONFIRM = Step("ask_confirm", "accept")
FORM = Step("ask_form", "accept")
LINK = Step("ask_link", "accept")
LATE = Step("ask_confirm", "late")


def headless(
    client: str,
    way: Way,
    *steps: Step,
    options: Sequence[str] = ("--hold", "3"),
    seconds: float | None = None,
) -> Seen:
    """A session without a terminal."""
    return run(client, DRIVERS[client], way, steps, options, seconds)


def at_terminal(client: str, way: Way, *steps: Step, acts: dict[str, Sequence[Act]] | None = None) -> Seen:
    """A session in which somebody uses the client's own dialog. `acts` are for steps that the table has not."""
    dialog = replace(DIALOGS[client], acts={**DIALOGS[client].acts, **(acts or {})})
    return run(client, dialog.driver, way, steps, ("--hold", "60"), sit=dialog.sit)


def events(seen: Seen, kind: str) -> list[dict[str, Any]]:
    return [each for each in seen.ledger if each["kind"] == kind]


def test_a_parked_question_leaves_the_desk_when_its_server_gives_up() -> None:
    step = Step("ask_briefly", "too late")
    seen = headless("openai-agents", "gateway", step, options=("--hold", "1"))
    assert judge(step, seen, dialog=False) == TOLD, seen.made
    assert not seen.decided, "no answer is taken that cannot reach the server"
    (asked,) = seen.asked
    assert asked["deadline"] * 1000 <= events(seen, "asked")[0]["time"] + 3000


@pytest.mark.parametrize("client", ["opencode", "kilo"])
def test_a_client_that_cancels_answered_calls_loses_no_question(client: str) -> None:
    seen = headless(client, "gateway", LATE)
    answered = [message["id"] for sender, message in seen.wire if sender == "server" and "result" in message]
    cancelled = [
        message["params"]["requestId"]
        for sender, message in seen.wire
        if sender == "client" and message.get("method") == "notifications/cancelled"
    ]
    assert set(cancelled) & set(answered), "the client has this habit no more"
    assert judge(LATE, seen, dialog=False) == AT_DESK, seen.made


def test_a_form_that_codex_cannot_show_comes_to_the_desk() -> None:
    seen = at_terminal("codex", "gateway", FORM, CONFIRM)
    assert judge(FORM, seen, dialog=True) == AT_DESK, seen.made
    assert judge(CONFIRM, seen, dialog=True) == IN_CLIENT, seen.made
    form, confirm = events(seen, "asked")
    assert form["about"]["request"]["target"] == "ask_form"
    assert confirm["about"]["request"]["target"] == "ask_confirm", (
        "it is known because of which call it is asked"
    )
    assert [each["question"] for each in events(seen, "shown")] == [form["question"], confirm["question"]]


@pytest.mark.parametrize(
    ("client", "step", "keys"),
    [
        ("codex", Step("ask_number", "accept"), [("How many copies of “accept”?", ("Enter",))]),
        ("goose", FORM, DIALOGS["goose"].acts[FORM.effect]),
    ],
)
def test_an_answer_that_does_not_fit_brings_the_question_to_the_desk(
    client: str, step: Step, keys: Sequence[Act]
) -> None:
    seen = at_terminal(client, "gateway", step, acts={step.effect: keys})
    assert judge(step, seen, dialog=True) == AT_DESK, seen.made
    (decided,) = events(seen, "decided")
    assert decided["reasons"] == ["the client accepted, but its answer does not fit the question"]


def test_cline_is_told_that_nobody_can_be_asked_and_a_fallback_holds() -> None:
    keep = Step("ask_or_keep", "accept")
    seen = headless("cline", "directly", CONFIRM, keep)
    assert seen.declared()[0] == "2024-11-05"
    assert judge(CONFIRM, seen, dialog=False) == TOLD, seen.made
    assert "or_keep accept: fallback." in (seen.result(keep) or "")


@pytest.mark.parametrize("way", ["directly", "gateway"])
def test_copilot_shows_a_link(way: Way) -> None:
    seen = at_terminal("copilot-cli", way, LINK)
    assert judge(LINK, seen, dialog=True) == IN_CLIENT, seen.made


def test_a_ticket_of_a_gateway_that_its_client_closed_says_what_became_of_the_call() -> None:
    seen = headless("langchain", "gateway", LATE)
    told = seen.result(LATE) or ""
    assert "ended while the user was being asked" in told, seen.made
    assert "-32000" not in told


@pytest.mark.parametrize(("client", "seconds"), [("openai-agents", 5.0), ("codex", 8.0)])
def test_a_question_outlives_its_clients_timeout(client: str, seconds: float) -> None:
    seen = headless(client, "gateway", TIMER.step, options=("--hold", "60"), seconds=seconds)
    assert judge(TIMER.step, seen, dialog=False) == AT_DESK, seen.made
    assert len(seen.asked) == 1, "the second call joins the first one"


@pytest.mark.parametrize("client", ["gemini-cli", "opencode"])
def test_a_held_call_says_where_to_answer(client: str) -> None:
    seen = headless(client, "gateway", LATE, options=("--hold", "12"))
    told: dict[object, list[dict[str, Any]]] = {}
    for _, message in seen.wire:
        if message.get("method") == "notifications/progress":
            told.setdefault(message["params"]["progressToken"], []).append(message["params"])
    first = next(iter(told.values()))
    assert [each["progress"] for each in first] == list(range(1, len(first) + 1))
    assert {each["message"] for each in first} == {"Answer in your Handraise inbox: run `handraise inbox`"}


def test_codex_is_told_which_part_of_a_question_it_cannot_show() -> None:
    seen = at_terminal("codex", "directly", CONFIRM, FORM, LINK)
    assert judge(CONFIRM, seen, dialog=True) == IN_CLIENT, seen.made
    assert "a choice of several" in (seen.result(FORM) or "")
    assert "open a link" in (seen.result(LINK) or "")


@pytest.mark.parametrize("way", ["directly", "gateway"])
def test_claude_code_shows_what_happens_on_decline(way: Way) -> None:
    why = Step("ask_why", "accept")
    seen = at_terminal(
        "claude-code", way, why, acts={why.effect: [("The build stops.", ("Space", "Down", "Enter"))]}
    )
    assert judge(why, seen, dialog=True) == IN_CLIENT, seen.output


@pytest.mark.parametrize("client", ["claude-code", "codex", "copilot-cli"])
def test_an_answer_without_a_person_is_recorded_as_the_clients(client: str) -> None:
    seen = headless(client, "gateway", CONFIRM, options=("--desk", "none"))
    (decided,) = events(seen, "decided")
    assert decided["decided_by"] == "client"
    assert decided["action"] in ("decline", "cancel")
    assert decided["latency"] < 5000


def with_hook(place: Place) -> Launch:
    """Claude Code with a hook that accepts every question."""
    launch = DRIVERS["claude-code"](place)
    said = {
        "hookSpecificOutput": {
            "hookEventName": "Elicitation",
            "action": "accept",
            "content": {"answer": True},
        }
    }
    script = place.write("hook.sh", f"#!/bin/sh\ncat > /dev/null\necho '{json.dumps(said)}'\n")
    script.chmod(0o755)
    hook = {"hooks": [{"type": "command", "command": str(script)}]}
    place.write(".claude/settings.json", {"hooks": {"Elicitation": [hook]}})
    return launch


def test_an_accept_of_a_hook_is_recorded_as_the_clients() -> None:
    seen = run("claude-code", with_hook, "gateway", [CONFIRM], ("--hold", "3"))
    assert seen.effects == [CONFIRM.effect], seen.made
    (decided,) = events(seen, "decided")
    assert (decided["decided_by"], decided["action"]) == ("client", "accept")


def installed(client: str) -> Driver:
    """A client whose own configuration file `gateway install` has rewritten."""

    def driver(place: Place) -> Launch:
        launch = DRIVERS[client](place)
        if client == "opencode":
            file = place.folder / ".config" / "opencode" / "opencode.json"
            file.rename(file.with_suffix(".jsonc"))
        home = {
            "HOME": str(place.folder),
            "XDG_DATA_HOME": str(place.folder / "data"),
            "PYTHONPATH": str(ROOT),
        }
        command = [*HANDRAISE, "gateway", "install", "--client", client, "--server", SERVER, "--yes"]
        subprocess.run(command, env=home, cwd=place.folder / "work", check=True, capture_output=True)
        return launch

    return driver


@pytest.mark.parametrize("client", ["copilot-cli", "qwen-code", "cline", "kilo", "opencode"])
def test_the_gateway_is_installed_where_the_client_looks(client: str) -> None:
    seen = run(client, installed(client), "directly", [CONFIRM])
    assert judge(CONFIRM, seen, dialog=False) == AT_DESK, (seen.made, seen.output)
