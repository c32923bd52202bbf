"""The two whole hosts: one answers in a browser, one in the terminal."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from mcp.server.mcpserver import MCPServer

from handraise import Handraise, ask
from handraise.desks import Decision, Queue
from handraise.desks.web.sessions import link_in_page
from handraise.questions import Accepted
from handraise.urls.open import NotOpened

EXAMPLES = Path(__file__).parents[2] / "examples"


def host(name: str, queue: Queue, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """An example, with a queue that the test sees and a server in this process."""
    monkeypatch.setenv("HANDRAISE_CONFIG", str(tmp_path / "handraise.toml"))
    (tmp_path / "handraise.toml").write_text("")
    server = Handraise().install(MCPServer("tea"))

    @server.tool()
    async def order() -> str:
        """Order tea."""
        return f"Ordered {(await ask.text('Which tea?')).or_stop()}."

    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "stdio_client", lambda *_, **__: server)
    monkeypatch.setattr(module, "Queue", lambda: queue)
    return module


async def answer(queue: Queue) -> None:
    """Answer the first question that comes."""
    async for waiting in queue.changes():
        if waiting:
            queue.show(waiting[0].id)
            queue.decide(waiting[0].id, Decision(Accepted({"answer": "green"}), by="agent", desk="test"))
            return


async def test_the_web_host_hands_its_link_to_the_browser_in_a_private_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queue, pages = Queue(), asyncio.Queue[tuple[Path, str]]()
    module = host("host_web", queue, monkeypatch, tmp_path)

    def no_browser(file: Path) -> NotOpened:
        pages.put_nowait((file, str(link_in_page(file))))
        return NotOpened("no_display", str(file))

    monkeypatch.setattr(module, "open_file", no_browser)
    running = asyncio.create_task(module.main(["python", "tea.py"], "order"))
    file, link = await asyncio.wait_for(pages.get(), 20)
    async with httpx.AsyncClient() as browser:
        assert (await browser.get(link)).status_code == 200
    await asyncio.wait_for(answer(queue), 20)
    await asyncio.wait_for(running, 20)
    said: Any = capsys.readouterr()
    assert said.out == "Ordered green.\n"
    assert str(file) in said.err
    assert link not in said.out + said.err


async def test_the_terminal_host_answers_where_it_calls(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = Queue()
    module = host("host_terminal", queue, monkeypatch, tmp_path)

    class Desk:
        async def run(self) -> None:
            await answer(queue)

    monkeypatch.setattr(module, "desk_for_terminal", lambda *_: Desk())
    await asyncio.wait_for(module.main(["python", "tea.py"], "order"), 20)
    assert capsys.readouterr().out == "Ordered green.\n"


async def test_the_terminal_host_needs_a_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = host("host_terminal", Queue(), monkeypatch, tmp_path)
    with pytest.raises(SystemExit, match="Run this in a terminal"):
        await module.main(["python", "tea.py"], "order")
