"""Several desks: all are run in the same way; the first answer wins, and the other desk says so."""

from __future__ import annotations

import asyncio
import inspect
import io

import httpx2
import pytest
from tests.desks.terminal.sitting import sitting
from tests.desks.web import samples
from tests.desks.web.visitor import InThisProcess, Visitor
from tests.waiting import until

from handraise.desks import Desk, Queue
from handraise.desks.codes import AnswerCode
from handraise.desks.headless import HeadlessDesk, ParkedDesk
from handraise.desks.lines import LineDesk
from handraise.desks.scripted import ScriptedDesk
from handraise.desks.terminal import TerminalDesk
from handraise.desks.terminal_session import TerminalSession
from handraise.desks.web import WebDesk
from handraise.policy import CancelIt
from handraise.questions import Declined


@pytest.mark.slow
@pytest.mark.shows("D8")
async def test_what_the_browser_answers_first_leaves_the_terminal_which_says_so() -> None:
    queue = Queue()
    async with sitting(samples.short(), queue=queue) as here:
        visitor = await Visitor(WebDesk(queue, port=7070, access=InThisProcess())).sign_in()
        [path] = await visitor.paths()
        await here.sees("What is it called?")
        assert (await visitor.post(path, {"do": "decline"})).status_code == 303
        await here.sees("It ended in the browser.")
        decision = await here.decision()
        assert (decision.answer, decision.desk) == (Declined(), "web")


@pytest.mark.slow
@pytest.mark.shows("D8")
async def test_what_the_terminal_answers_first_cannot_be_answered_in_the_browser_which_says_so() -> None:
    queue = Queue()
    async with sitting(samples.short(), queue=queue) as here:
        visitor = await Visitor(WebDesk(queue, port=7070, access=InThisProcess())).sign_in()
        [path] = await visitor.paths()
        await visitor.get(path)
        await here.press("f3")
        assert (await here.decision()).desk == "terminal"
        assert (await visitor.post(path, {"do": "cancel"})).status_code == 409
        assert "It ended at the terminal just now." in visitor.page


def test_every_desk_is_run_in_the_same_way() -> None:
    queue, code = Queue(), AnswerCode()
    desks: list[Desk] = [
        ScriptedDesk(queue, []),
        ParkedDesk(queue, code, io.StringIO()),
        HeadlessDesk(queue, CancelIt(), io.StringIO()),
        LineDesk(TerminalSession(queue), io.StringIO(), io.StringIO()),
        TerminalDesk(TerminalSession(queue)),
        WebDesk(queue),
    ]
    for desk in desks:
        assert set(dir(desk)) & {"run", "serve"} == {"run"}
        assert inspect.iscoroutinefunction(desk.run)


async def test_a_web_desk_that_is_run_serves_until_it_is_cancelled() -> None:
    desk = WebDesk(Queue())
    running = asyncio.create_task(desk.run())
    await until(lambda: desk.port != 0)
    async with httpx2.AsyncClient() as browser:
        assert (await browser.get(f"http://127.0.0.1:{desk.port}/")).status_code == 403
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        with pytest.raises(httpx2.ConnectError):
            await browser.get(f"http://127.0.0.1:{desk.port}/")
