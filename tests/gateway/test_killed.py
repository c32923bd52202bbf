"""Gateways that are killed: what waited goes on in the next one, or ends as ambiguous, and nothing happens twice."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.command import HANDRAISE, ROOT
from tests.gateway.visiting import answer, door, until, waiting
from tests.login_shell import Started, from_login_shell
from typer.testing import CliRunner

from handraise.cli.app import app
from handraise.gateway.peers import CAPABILITIES_KEY, CLIENT_KEY, MODERN, NOVEMBER, VERSION_KEY

pytestmark = [pytest.mark.slow, pytest.mark.shows("W6")]

CLIENT = {"name": "c", "version": "1"}
ENVELOPE = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}, CLIENT_KEY: CLIENT}
HOST = (
    "import signal, subprocess, sys; gateway = subprocess.Popen(sys.argv[1:]); "
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.exit(gateway.wait())"
)
"""What starts a gateway: the desk opens to nothing that the same program started."""


def child_of(pid: int) -> int:
    """The process that another one started, once it did."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return int(until(lambda: children.read_text().split())[0])


def is_running(pid: int) -> bool:
    """Whether a process goes on; one that nobody waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Host:
    """A client that cannot ask, and the gateway that it started."""

    def __init__(self, process: Started, *, modern: bool) -> None:
        self._process = process
        self._modern = modern
        self._id = 0
        self._group = child_of(process.shell)
        self.gateway = child_of(self._group)

    def begin(self) -> Host:
        if self._modern:
            self.ask("server/discover")
        else:
            hello = {"protocolVersion": NOVEMBER, "capabilities": {}, "clientInfo": CLIENT}
            self.ask("initialize", **hello)
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def call(self, tool: str, **arguments: str) -> str:
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return "".join(each["text"] for each in result["content"])

    def ask(self, method: str, **params: Any) -> Any:
        self._id += 1
        meta = {"_meta": ENVELOPE} if self._modern else {}
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": {**params, **meta}})
        while (said := json.loads(self._process.stdout.readline())).get("id") != self._id:
            pass
        return said

    def kill(self) -> None:
        """From one moment to the next."""
        os.kill(self.gateway, signal.SIGKILL)
        self.wait()

    def terminate(self) -> None:
        """As a service manager does it: the gateway and the server that it started."""
        os.killpg(self._group, signal.SIGTERM)
        self.wait()

    def interrupt(self) -> None:
        """Tell only the gateway."""
        os.kill(self.gateway, signal.SIGTERM)
        self.wait()

    def leave(self) -> None:
        """End its input."""
        self._process.stdin.close()
        self.wait()

    def kill_client(self) -> None:
        """The client goes from one moment to the next, and with it its end of the pipes."""
        os.kill(self._group, signal.SIGKILL)
        self._process.stdin.close()
        self.wait()
        until(lambda: not is_running(self.gateway))

    def wait(self) -> int:
        return self._process.wait()

    def _send(self, message: Any) -> None:
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


class Place:
    """A user's own folders, and the book in which the server writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.runtime = folder / "run"
        for name in ("run", "data"):
            (folder / name).mkdir(mode=0o700)

    @property
    def book(self) -> list[str]:
        return (self._folder / "book").read_text().split("\n")[:-1]

    @contextmanager
    def gateway(self, server: str, *, modern: bool = False, dies: str | None = None) -> Iterator[Host]:
        program = HANDRAISE if dies is None else [sys.executable, "-m", "tests.gateway.dying", dies]
        till = [sys.executable, "-m", "tests.gateway.till", str(self._folder / "book"), server]
        command = [*program, "gateway", "--name", "till", "--", *till]
        around = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "HOME": str(self._folder),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "XDG_DATA_HOME": str(self._folder / "data"),
            "HANDRAISE_GATEWAY_HOLD": "0.2",
            "HANDRAISE_LEDGER": str(self._folder / "ledger.db"),
        }
        with from_login_shell([sys.executable, "-c", HOST, *command], around, ROOT) as process:
            host = Host(process, modern=modern)
            bound = threading.Timer(60, os.kill, (host.gateway, signal.SIGKILL))
            bound.start()
            try:
                yield host.begin()
            finally:
                bound.cancel()

    def park(self, host: Host, tool: str = "pay") -> str:
        """Have a call parked, and its question wait at the desk; the ticket."""
        ticket = ticket_in(host.call(tool, to="ann"))
        until(lambda: waiting(door(self.runtime, host.gateway)))
        return ticket

    def answer(self, host: Host, text: str) -> None:
        """Answer what waits at a gateway's desk."""
        at = door(self.runtime, host.gateway)
        until(lambda: waiting(at))
        answer(at, answer=text)

    def endings(self) -> list[str]:
        """How the questions in the ledger ended so far."""
        file = str(self._folder / "ledger.db")
        shown = CliRunner().invoke(app, ["ledger", "show", "--json", "--ledger", file])
        kinds = [json.loads(line)["kind"] for line in shown.stdout.splitlines()]
        return [kind for kind in kinds if kind not in ("asked", "shown")]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def ticket_in(told: str) -> str:
    found = re.search(r"ticket '([\w-]+)'", told)
    assert found is not None, told
    return found[1]


@pytest.mark.shows("W2")
@pytest.mark.parametrize("modern", [False, True], ids=["legacy-client", "modern-client"])
def test_a_parked_question_is_answered_at_the_next_gateways_desk(place: Place, modern: bool) -> None:
    with place.gateway("modern", modern=modern) as host:
        ticket = place.park(host)
        host.kill()
    with place.gateway("modern", modern=modern) as host:
        place.answer(host, "7")  # it is there before anybody calls anything
        assert host.call("handraise_resume", ticket=ticket) == "paid"
        assert place.book == ["looked", "paid 7"]
        assert host.call("handraise_resume", ticket=ticket) == "paid"
    assert place.book == ["looked", "paid 7"]


@pytest.mark.shows("W2")
@pytest.mark.parametrize(
    ("modern", "end"),
    [
        (False, Host.leave),
        (True, Host.interrupt),
        (False, Host.terminate),
        (False, Host.kill_client),
        (True, Host.kill_client),
    ],
)
def test_a_parked_question_outlives_a_gateway_that_ends_in_good_order(
    place: Place, modern: bool, end: Callable[[Host], None]
) -> None:
    with place.gateway("modern", modern=modern) as host:
        ticket = place.park(host)
        end(host)
    with place.gateway("modern", modern=modern) as host:
        place.answer(host, "7")
        assert host.call("handraise_resume", ticket=ticket) == "paid"
    assert place.book == ["looked", "paid 7"]


@pytest.mark.shows("G1")
@pytest.mark.parametrize("end", [Host.terminate, Host.leave, Host.kill_client])
def test_a_call_of_an_older_server_is_ambiguous_after_an_end_in_good_order(
    place: Place, end: Callable[[Host], None]
) -> None:
    """Also where the server answered with an error when its pipes were closed."""
    with place.gateway("legacy") as host:
        ticket = place.park(host)
        end(host)
    with place.gateway("legacy") as host:
        assert "Whether it had done anything" in host.call("handraise_resume", ticket=ticket)
    assert place.book == ["looked"]
    assert place.endings() == ["ambiguous"]


def test_an_answer_that_was_not_sent_is_asked_for_again(place: Place) -> None:
    with place.gateway("modern", dies="accepted") as host:
        ticket = place.park(host)
        place.answer(host, "7")
        host.wait()
    assert place.book == ["looked"]
    with place.gateway("modern") as host:
        assert ticket_in(host.call("pay", to="ann")) == ticket
        place.answer(host, "8")
        assert host.call("handraise_resume", ticket=ticket) == "paid"
    assert place.book == ["looked", "paid 8"]


def test_an_answer_that_may_have_been_sent_is_never_sent_again(place: Place) -> None:
    with place.gateway("modern", dies="sent") as host:
        ticket = place.park(host)
        place.answer(host, "7")
        host.wait()
    with place.gateway("modern") as host:
        assert "Whether it had done anything" in host.call("handraise_resume", ticket=ticket)
    assert place.book == ["looked"]


@pytest.mark.parametrize("end", [Host.kill, Host.kill_client])
def test_a_call_whose_server_has_the_answer_and_no_reply_is_not_made_again(
    place: Place, end: Callable[[Host], None]
) -> None:
    with place.gateway("modern") as host:
        ticket = place.park(host, "pay_and_stay_silent")
        place.answer(host, "7")
        until(lambda: "paid 7" in place.book)
        end(host)
    with place.gateway("modern") as host:
        assert "Whether it had done anything" in host.call("handraise_resume", ticket=ticket)
    assert place.book == ["looked", "paid 7"]


@pytest.mark.shows("G1", "W3d")
@pytest.mark.parametrize(
    ("server", "end"), [("legacy", Host.kill), ("forgetful", Host.kill), ("forgetful", Host.leave)]
)
def test_a_call_of_a_server_that_keeps_nothing_is_void_and_the_same_call_is_a_new_one(
    place: Place, server: str, end: Callable[[Host], None]
) -> None:
    with place.gateway(server) as host:
        ticket = place.park(host)
        end(host)
    with place.gateway(server) as host:
        assert ticket_in(host.call("pay", to="ann")) != ticket
        assert place.book == ["looked", "looked"]
        assert "Whether it had done anything" in host.call("handraise_resume", ticket=ticket)
        place.answer(host, "7")
        until(lambda: "paid 7" in place.book)
    assert place.book == ["looked", "looked", "paid 7"]
    assert place.endings()[0] == "ambiguous"


@pytest.mark.shows("G1")
def test_a_server_that_is_killed_while_asked_leaves_an_ambiguous_call(place: Place) -> None:
    with place.gateway("modern") as host:
        ticket = place.park(host)
        os.kill(child_of(host.gateway), signal.SIGKILL)
        assert host.wait() == 128 + signal.SIGKILL
    with place.gateway("modern") as host:
        assert "ended while the user was being asked" in host.call("handraise_resume", ticket=ticket)
    assert place.book == ["looked"]
    assert place.endings() == ["ambiguous"]
