"""The desk of tests and examples."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.desks.questions import form_question, link_question

from handraise.desks import Queue
from handraise.desks.scripted import Line, ScriptedDesk, UnexpectedQuestion, read_script
from handraise.errors import UsageError
from handraise.forms import Form, Text
from handraise.questions import Accepted, Declined

NAME = Form.by_hand(Text("name"))


async def test_lines_are_found_by_message_or_field() -> None:
    queue = Queue()
    script = [Line("decline", message="link"), Line("accept", {"name": "Ada"}, fields=("name",))]
    desk = asyncio.create_task(ScriptedDesk(queue, script).run())
    assert (await queue.put(form_question("Who?", NAME))).answer == Accepted({"name": "Ada"})
    desk.cancel()


async def test_a_link_is_accepted_without_content() -> None:
    queue = Queue()
    desk = asyncio.create_task(ScriptedDesk(queue, [Line("accept")]).run())
    assert (await queue.put(link_question())).answer == Accepted(None)
    desk.cancel()


@pytest.mark.parametrize("script", [[], [Line("accept", {"name": "Ada"}, message="something else")]])
async def test_an_unexpected_question_fails_loudly(script: list[Line]) -> None:
    queue = Queue()
    desk = asyncio.create_task(ScriptedDesk(queue, script).run())
    asked = asyncio.create_task(queue.put(form_question("Who?", NAME)))
    with pytest.raises(UnexpectedQuestion, match="Who"):
        await desk
    asked.cancel()


async def test_an_answer_that_does_not_fit_fails_loudly() -> None:
    queue = Queue()
    desk = asyncio.create_task(ScriptedDesk(queue, [Line("accept", {"name": 7})]).run())
    asked = asyncio.create_task(queue.put(form_question("Who?", NAME)))
    with pytest.raises(UnexpectedQuestion, match="does not fit"):
        await desk
    asked.cancel()


async def test_a_script_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps([{"action": "decline", "message": "Who"}]))
    queue = Queue()
    desk = asyncio.create_task(ScriptedDesk(queue, read_script(file)).run())
    assert (await queue.put(form_question("Who?", NAME))).answer == Declined()
    desk.cancel()


@pytest.mark.parametrize("content", ["{", "[1]", '[{"action": "maybe"}]', '[{"reply": "accept"}]'])
def test_a_file_that_is_no_script_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(content)
    with pytest.raises(UsageError, match="script"):
        read_script(file)


@pytest.mark.shows("W9b")
async def test_a_script_cannot_accept_what_needs_a_passkey() -> None:
    queue, waiting = Queue(), form_question("Who?", Form.by_hand(Text("name")), passkey=True)
    asked = asyncio.create_task(queue.put(waiting))
    await asyncio.sleep(0)
    with pytest.raises(UnexpectedQuestion, match="needs a passkey"):
        await ScriptedDesk(queue, [Line("accept", {"name": "Ada"})]).run()
    assert queue.waiting() == (waiting,)
    asked.cancel()
