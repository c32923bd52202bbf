"""What asks, on every supported release of mcp and FastMCP: the same scenarios at the level of messages.

`make releases` runs them in an environment for each release, and prints the table.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from importlib import metadata, util
from pathlib import Path
from typing import Any

import pytest
from tests.releases.lines import MODERN, Shop, accept, http_shop, shop

from handraise.testing.people import fill_in

MCP = int(metadata.version("mcp").partition(".")[0])
KINDS = ["own", "lowlevel", *(["fastmcp"] if util.find_spec("fastmcp") else [])]
REVISIONS = ["2025-06-18", "2025-11-25", *([MODERN] if MCP > 1 else [])]
CELLS = [
    pytest.param((kind, revision), id=f"{kind}-{revision}", marks=[] if at == number else pytest.mark.soak)
    for at, kind in enumerate(KINDS)
    for number, revision in enumerate(REVISIONS)
]
"""Each kind and each revision once in `make test`, which tests this release elsewhere; all pairs in `make releases`."""


def kinds(quick: str) -> list[Any]:
    """Each kind, for a test that starts a process of its own: one of them in `make test`, all in `make releases`."""
    return [pytest.param(kind, marks=[] if kind == quick else pytest.mark.soak) for kind in KINDS]


pytestmark = [pytest.mark.slow, pytest.mark.release]


@pytest.fixture(scope="module", params=CELLS)
async def started(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Shop]:
    """One process for all scenarios of a cell: starting it takes longer than they do."""
    kind, revision = request.param
    folder = tmp_path_factory.mktemp("shop")
    async with shop(kind, revision, folder, {} if revision == "2025-06-18" else None) as connected:
        yield connected


@pytest.fixture
def client(started: Shop) -> Shop:
    """A client of a shop in which nothing has happened yet."""
    started.forget()
    return started


def effects(folder: Path) -> list[str]:
    path = folder / "effects"
    return path.read_text().split() if path.exists() else []


def has_links(client: Shop) -> bool:
    return client.revision != "2025-06-18"


async def test_questions_come_in_order_and_effects_happen_once(client: Shop) -> None:
    client.answers = [accept(answer="l"), accept(answer=True)]
    assert await client.text("order") == "l accept"
    assert effects(client.folder) == ["before", "between"]
    assert [asked["message"] for asked in client.asked] == ["Which size of tea?", "Really?"]


async def test_a_form_is_asked_again_with_what_was_right(client: Shop) -> None:
    client.answers = [
        accept(street="Elm", number="four", gift=True),
        accept(street="Elm", number=4, gift=True),
    ]
    assert "Elm" in await client.text("address")
    assert "number" in client.asked[1]["message"].lower()
    properties = client.asked[1]["requestedSchema"]["properties"]
    assert properties["gift"]["default"] is True
    assert ("default" in properties["street"]) == has_links(client)


async def test_a_no_a_decline_and_a_cancel_are_three_things(client: Shop) -> None:
    for answer, category in (
        (accept(answer=False), "user_declined"),
        ({"action": "decline"}, "user_declined"),
        ({"action": "cancel"}, "user_cancelled"),
    ):
        client.answers = [answer]
        result = await client.call("delete", "tea")
        assert (result["isError"], result["_meta"]["handraise/category"]) == (True, category)


async def test_a_guard_lets_a_call_run_after_a_yes(client: Shop) -> None:
    client.answers = [lambda params: accept(**{next(iter(params["requestedSchema"]["properties"])): True})]
    assert await client.text("delete", "tea") == "deleted"
    assert effects(client.folder) == ["deleted", "tea"]


async def test_a_question_expires(client: Shop) -> None:
    if client.revision == MODERN:
        _, first = client.begin("tools/call", {"name": "hurry", "arguments": {"article": "tea"}})
        asked = (await asyncio.wait_for(first, 20))["result"]
        await asyncio.sleep(0.4)
        retry = {"inputResponses": {key: accept(answer="x") for key in asked["inputRequests"]}}
        params = {
            "name": "hurry",
            "arguments": {"article": "tea"},
            "requestState": asked["requestState"],
            **retry,
        }
        response = await asyncio.wait_for(client.begin("tools/call", params)[1], 20)
        assert "error" in response or response["result"]["isError"]
    else:
        client.answers = [None]
        assert (await client.call("hurry"))["_meta"]["handraise/category"] == "expired"
        assert any(notice["method"] == "notifications/cancelled" for notice in client.notices)
    assert effects(client.folder) == ["expired"]


async def test_a_client_that_cancels_is_told_to_the_tool(client: Shop) -> None:
    if client.revision == MODERN:
        pytest.skip("a round that is out has no request to cancel")
    client.answers = [None]
    number, _ = client.begin("tools/call", {"name": "wait", "arguments": {"article": "tea"}})
    async with asyncio.timeout(60):
        while not client.asked:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        client.send({"method": "notifications/cancelled", "params": {"requestId": number}})
        while "finally" not in effects(client.folder):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert effects(client.folder) == ["withdrawn", "finally"]


async def test_prompts_and_resources_ask_too(client: Shop) -> None:
    client.answers = [accept(answer="s"), accept(answer=True)] * 2
    prompt = await client.request("prompts/get", {"name": "order", "arguments": {"article": "tea"}})
    assert prompt["result"]["messages"][0]["content"]["text"] == "s accept"
    read = await client.request("resources/read", {"uri": "order://tea"})
    assert read["result"]["contents"][0]["text"] == "s accept"
    client.answers = [{"action": "decline"}]
    declined = await client.request("prompts/get", {"name": "order", "arguments": {"article": "tea"}})
    assert declined["error"]["message"] == "The person declined."


async def test_a_link_is_finished_and_the_client_is_told(client: Shop) -> None:
    if not has_links(client):
        assert (await client.call("pay"))["_meta"]["handraise/category"] == "not_supported"
        return
    client.answers = [{"action": "accept"}] * 3
    paying = asyncio.create_task(client.text("pay", "e1"))
    async with asyncio.timeout(60):
        while not client.asked:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        assert await client.text("paid", "e1") == "done"
        assert await paying == "accept"
    told = [
        n["params"]["elicitationId"] for n in client.notices if n["method"].endswith("elicitation/complete")
    ]
    assert told == ([] if client.revision == MODERN else ["e1"])


async def test_a_link_that_is_required_first_is_listed(client: Shop) -> None:
    if client.revision != "2025-11-25":
        pytest.skip("error -32042 is of 2025-11-25")
    error = await client.call("members", "e2")
    assert error["code"] == -32042
    assert [each["elicitationId"] for each in error["data"]["elicitations"]] == ["e2"]


def filling_in(entry: Any) -> Any:
    """Agree, and fill in the page in a browser."""

    def answer(params: Any) -> Any:
        asyncio.get_running_loop().run_in_executor(None, fill_in, params["url"], entry)
        return {"action": "accept"}

    return answer


async def test_a_secret_is_entered_on_a_page_and_kept(client: Shop) -> None:
    if not has_links(client):
        assert (await client.call("key"))["_meta"]["handraise/category"] == "not_supported"
        return
    client.answers = [{"action": "decline"}]
    assert await client.text("key") == "decline"
    client.answers = [filling_in("ghp_1"), {"action": "accept"}]
    assert await client.text("key") == "ghp_1"
    client.answers = []
    assert await client.text("key") == "ghp_1"  # the vault has it
    assert "ghp_1" not in f"{client.asked} {client.notices}"


async def test_a_first_set_up_is_entered_on_a_page(client: Shop) -> None:
    if not has_links(client):
        assert (await client.call("account"))["_meta"]["handraise/category"] == "not_supported"
        return
    entry = {"street": "Elm", "number": 4, "gift": True, "password": "hush"}
    client.answers = [filling_in(entry), {"action": "accept"}]
    assert await client.text("account") == "Elm hush"


async def test_an_account_elsewhere_is_connected_on_a_page(client: Shop) -> None:
    if not has_links(client):
        assert (await client.call("connect"))["_meta"]["handraise/category"] == "not_supported"
        return

    def look(params: Any) -> Any:
        with pytest.raises(AssertionError, match=r"It leads to .*/go\?.* go there with Accepted\(True\)"):
            fill_in(params["url"], "me")
        return {"action": "decline"}

    client.answers = [look]
    assert await client.text("connect") == "decline"


async def test_questions_of_every_kind_are_asked_together_and_alone(client: Shop) -> None:
    content = {"How many?": 2, "When?": "2026-11-18", "For whom?": "Ada", "Extras?": ["milk"]}

    def answer(params: Any) -> Any:
        (name,) = params["requestedSchema"]["properties"]
        return accept(**{name: content[params["message"]]})

    client.answers = [answer] * 4
    result = await client.call("basket")
    if has_links(client):
        assert result["content"][0]["text"] == "2 2026-11-18 Ada milk"
    else:  # 2025-06-18 knows no choice of several options
        assert result["_meta"]["handraise/category"] == "not_supported"
        assert len(client.asked) == 3


async def test_the_clients_model_is_asked(client: Shop) -> None:
    assert await client.text("poem") == "A poem on tea. Steam."


@pytest.mark.parametrize("kind", kinds("own"))
async def test_it_asks_over_http_whoever_the_token_is_of(kind: str, tmp_path: Path) -> None:
    async with http_shop(kind, tmp_path, *(["person"] if kind == "own" else [])) as client:
        await client.start()
        client.answers = [accept(answer="l"), accept(answer=True)]
        assert await client.text("order") == "l accept"
        issuer = "our own" if kind == "own" else "https://login.example.com"
        expected = ("anonymous",) if kind == "lowlevel" else ("token", issuer, "ann")
        assert tuple(json.loads(await client.text("whoami")))[: len(expected)] == expected


@pytest.mark.parametrize("kind", kinds("lowlevel"))
async def test_a_server_with_plain_json_responses_cannot_ask(kind: str, tmp_path: Path) -> None:
    async with http_shop(kind, tmp_path, "json") as client:
        await client.start()
        assert await client.text("careful") == "fallback any"


async def test_a_step_runs_once_in_a_limit_of_its_own(client: Shop) -> None:
    client.answers = [accept(answer=True)]
    assert await client.text("steps", "tea") == "tea tea"


async def test_files_stay_inside_the_roots(client: Shop) -> None:
    root = client.folder / "in"
    root.mkdir()
    (root / "a.txt").write_text("inside")
    client.roots = [root.as_uri()]
    assert await client.text("files", str(root / "a.txt")) == "inside"
    refused = await client.call("files", str(client.folder / "effects"))
    assert refused["_meta"]["handraise/category"] == "outside_boundary"


async def test_a_plain_function_asks(client: Shop) -> None:
    if client.kind == "lowlevel":
        pytest.skip("a lowlevel server has no plain functions")
    client.answers = [accept(answer="tea")]
    assert await client.text("plain") == "tea"


@pytest.mark.parametrize("kind", kinds("lowlevel"))
async def test_every_question_is_in_the_ledger(kind: str, tmp_path: Path) -> None:
    from handraise.ledger import Ledger

    async with shop(kind, REVISIONS[-1], tmp_path) as client:
        client.answers = [accept(answer="s"), accept(answer=False)]
        await client.call("order")
    ledger = Ledger.at(tmp_path / "ledger.db")
    kinds = [event.kind async for _, event in ledger.events()]
    await ledger.aclose()
    assert kinds.count("asked") == kinds.count("decided") == 2


@pytest.mark.parametrize("kind", kinds("own"))
@pytest.mark.parametrize("revision", REVISIONS[1:])
async def test_a_client_that_cannot_be_asked(kind: str, revision: str, tmp_path: Path) -> None:
    async with shop(kind, revision, tmp_path, False) as client:
        assert await client.text("careful") == "fallback any"
        refused = await client.call("order")
        assert refused.get("code") == -32021 or refused["_meta"]["handraise/category"] == "not_supported"
        assert client.asked == []


@pytest.mark.parametrize("kind", kinds("lowlevel"))
async def test_an_older_revision_has_nobody_to_ask(kind: str, tmp_path: Path) -> None:
    async with shop(kind, "2025-03-26", tmp_path, {}) as client:
        assert await client.text("careful") == "fallback any"
