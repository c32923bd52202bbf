"""The same question in the terminal and in the browser: the first answer wins, and the other desk says so."""

from __future__ import annotations

import pytest
from tests.desks.terminal.sitting import sitting
from tests.desks.web import samples
from tests.desks.web.visitor import InThisProcess, Visitor

from handraise.desks import Queue
from handraise.desks.web import WebDesk
from handraise.questions import Declined

pytestmark = pytest.mark.slow


@pytest.mark.shows("D8")
async def test_what_the_browser_answers_first_leaves_the_terminal_which_says_so() -> None:
    queue = Queue()
    async with sitting(samples.short(), queue=queue) as here:
        visitor = await Visitor(WebDesk(queue, port=7070, access=InThisProcess())).sign_in()
        [path] = await visitor.paths()
        await here.sees("What is it called?")
        assert (await visitor.post(path, {"do": "decline"})).status_code == 303
        await here.sees("It was answered in the browser: declined.")
        decision = await here.decision()
        assert (decision.answer, decision.desk) == (Declined(), "web")


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
        assert "It was answered at the terminal just now: declined." in visitor.page
