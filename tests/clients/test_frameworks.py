"""The examples of docs/frameworks.md, each in the environment of its framework. For `make clients`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.clients.install import load_pins
from tests.docs.snippets import blocks_run_by
from tests.gateway.sides import at_a_terminal, make_home
from tests.gateway.visiting import until
from tests.login_shell import from_login_shell

GREETER = """
from handraise import Handraise, ask
try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server
server = Server("greeter")
Handraise().install(server)
@server.tool()
async def greet() -> str:
    '''Greet somebody by name.'''
    return f"Hello {(await ask.text('What is your name?')).or_stop()}"
server.run()
"""
BESIDE = """
import asyncio, runpy
import desk
from handraise.desks.scripted import Line, ScriptedDesk
class Both:
    '''The web desk of the page, and a person who answers from the same queue.'''
    def __init__(self, web):
        self.web = web
    def __getattr__(self, name):
        return getattr(self.web, name)
    async def __aenter__(self):
        await self.web.__aenter__()
        self.person = ScriptedDesk(desk.queue, [Line("accept", {"answer": "Ada"})])
        self.answering = asyncio.create_task(self.person.run())
    async def __aexit__(self, *failure):
        self.answering.cancel()
        await self.web.__aexit__(*failure)
        [question] = self.person.seen
        assert question.question.message == "What is your name?"
        assert question.origin.name == "greeter"
desk.desk = Both(desk.desk)
runpy.run_path("example.py", run_name="__main__")
"""

pytestmark = [pytest.mark.client, pytest.mark.stranger, pytest.mark.slow]


def example(name: str) -> str:
    """A block of the page, by the comment in its first line."""
    found = {
        block.text.partition("\n")[0]: block.text
        for block in blocks_run_by("test_the_person_answers_at_the_desk")
    }
    return found[f"# {name}"]


def prepare(folder: Path, framework: str) -> dict[str, str]:
    """The files of an example, and the environment of somebody who runs it."""
    programs = load_pins()[framework].folder / "bin"
    assert (programs / "python").exists(), f"make clients makes the environment of {framework}"
    (folder / "greeter.py").write_text(GREETER)
    (folder / "desk.py").write_text(example("desk.py"))
    (folder / "example.py").write_text(example(framework))
    (folder / "beside.py").write_text(BESIDE)
    home = make_home(folder)
    del home["XDG_DATA_HOME"]  # the SDK's client does not pass it on to the gateway that it starts
    return {**home, "PATH": f"{programs}:{home['PATH']}", "PYTHONPATH": str(folder)}


@pytest.mark.shows("N8")
@pytest.mark.parametrize("framework", ["langchain", "pydantic-ai", "google-adk"])
def test_the_person_answers_at_the_desk(framework: str, tmp_path: Path) -> None:
    home = prepare(tmp_path, framework)
    done = subprocess.run(
        ["python", "beside.py"], env=home, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "Hello Ada" in done.stdout


def waiting(home: dict[str, str]) -> bool:
    """Whether a gateway has a question for the person."""
    told = subprocess.run(
        ["handraise", "inbox", "--json"], env=home, capture_output=True, text=True, timeout=60
    )
    return any(desk.get("waiting") for desk in json.loads(told.stdout or "[]"))


@pytest.mark.shows("N8", "W2")
def test_a_framework_without_a_callback_asks_through_the_gateway(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("home")  # a short name: a socket's path is bounded
    home = prepare(folder, "openai-agents")
    errors = folder / "errors"
    with from_login_shell(["python", "example.py"], home, folder, errors) as running:
        until(lambda: waiting(home), every=0.5)
        typed = [("Answer:", "Ada"), ("Write send", "send")]
        at_a_terminal(["handraise", "inbox", "--terminal"], home, typed)
        assert running.stdout is not None
        said = running.stdout.read()
    assert "Hello Ada" in str(said), errors.read_text()
