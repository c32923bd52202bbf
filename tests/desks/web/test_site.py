"""The web desk as a server: where it listens, what it says about itself, how it stops."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import httpx2 as httpx
import pytest
from tests.desks.web import samples

from handraise.desks import Queue
from handraise.desks.web import WebDesk
from handraise.errors import SetupError, UsageError


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "desk.example", "localhost", ""])
def test_the_desk_listens_on_this_computer_only(host: str) -> None:
    with pytest.raises(SetupError, match="this computer only"):
        WebDesk(Queue(), host=host)


async def test_a_desk_takes_a_free_port_serves_and_stops(capfd: pytest.CaptureFixture[str]) -> None:
    desk = WebDesk(Queue())
    with pytest.raises(UsageError, match="start it first"):
        desk.sign_in_url()
    async with desk:
        link = desk.sign_in_url()
        assert link.startswith(f"http://127.0.0.1:{desk.port}/sign-in/")
        assert link != desk.sign_in_url()
        with pytest.raises(UsageError, match="already"):
            await desk.start()
        async with httpx.AsyncClient() as client:
            response = await client.get(link)
            assert response.status_code == 200
            assert "server" not in response.headers
        with pytest.raises(SetupError, match="cannot listen"):
            await WebDesk(Queue(), port=desk.port).start()
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(link)
    await desk.stop()
    assert capfd.readouterr() == ("", ""), "a process that a model reads prints no link"


async def test_a_desk_stops_at_once_while_pages_listen_for_news_and_the_questions_stay() -> None:
    queue = Queue()
    asked = asyncio.create_task(queue.put(samples.short()))
    desk = WebDesk(queue)
    await desk.start()
    async with httpx.AsyncClient() as client:
        entered = await client.post(
            desk.sign_in_url(),
            headers={
                "origin": f"http://127.0.0.1:{desk.port}",
                "content-type": "application/x-www-form-urlencoded",
            },
        )
        cookie = entered.headers["set-cookie"].partition(";")[0]
        events = f"http://127.0.0.1:{desk.port}{entered.headers['location']}events"
        async with client.stream("GET", events, headers={"cookie": cookie}) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            lines = response.aiter_lines()
            assert await anext(lines) == "event: waiting"
            assert (await anext(lines)).count('"') == 2
            other = asyncio.create_task(queue.put(samples.empty()))
            assert await anext(lines) == ""
            assert await anext(lines) == "event: waiting"
            assert (await anext(lines)).count('"') == 4
            async with asyncio.timeout(4):
                await desk.stop()
    assert len(queue.waiting()) == 2
    for task in (asked, other):
        task.cancel()
    await asyncio.gather(asked, other, return_exceptions=True)


def test_without_jinja2_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['jinja2'] = None\n"
        "from handraise.errors import SetupError\n"
        "try:\n    import handraise.desks.web\n"
        "except SetupError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "handraise[web]" in done.stdout
