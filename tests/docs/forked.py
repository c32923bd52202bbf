"""`handraise` and `python` that start at once: forked from a process that has loaded everything already.

A command of the documents runs in a real shell, in a process of its own, from the entry point that is installed. Only
the imports are shared: they are what takes seconds. `python -m tests.docs.forked SOCKET` is the process that forks.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import termios
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LOADED = (
    "fastmcp.server.context",
    "fastmcp.server.middleware.dereference",
    "fastmcp.server.providers.prefab_payload",
    "fastmcp.server.providers.prefab_synthesis",
    "fastmcp.server.server",
    "fastmcp.server.sessions",
    "fastmcp.server.transforms.catalog",
    "griffe",
    "jsonschema",
    "key_value.aio.adapters.pydantic",
    "key_value.aio.stores.memory",
    "mcp.client.stdio",
    "mcp.client.streamable_http",
    "mcp.server.mcpserver",
    "mcp.server.stdio",
    "handraise.cli.app",
    "handraise.cli.at_desk",
    "handraise.cli.call",
    "handraise.client",
    "handraise.design",
    "handraise.desks.lines",
    "handraise.desks.scripted",
    "handraise.gateway",
    "handraise.ledger",
    "handraise.pages",
    "handraise.policy",
    "handraise.server",
    "handraise.sdk.fastmcp4",
    "handraise.stores",
    "tests.server.kinds.prepared",
    "uvicorn",
)
_ASKS = """#!{python} -IS
import json, os, signal, socket, sys
asks = socket.socket(socket.AF_UNIX)
signal.signal(signal.SIGTERM, lambda *_: asks.shutdown(socket.SHUT_WR))
asks.connect({address!r})
asked = json.dumps([{program!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(asks, [len(asked).to_bytes(8, "big")], [0, 1, 2])
asks.sendall(asked)
sys.exit(int(asks.recv(8) or b"70"))
"""


@contextlib.contextmanager
def quick_programs(folder: Path) -> Iterator[Path]:
    """A folder for the PATH with a `handraise` and a `python` that start at once."""
    address = str(folder / "forks")
    for program in ("handraise", "python"):
        script = folder / program
        script.write_text(_ASKS.format(python=sys.executable, address=address, program=program))
        script.chmod(0o755)
    command = [sys.executable, "-W", "error", "-m", __name__, address]
    # In a session of its own: what it forks has no terminal but the one that is handed over.
    # It ends with its input, whatever becomes of us.
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as forks:
        assert forks.stdout is not None
        try:
            assert forks.stdout.readline() == b"ready\n"
            yield folder
        finally:
            forks.terminate()


def serve(address: str) -> None:
    """Fork for whoever asks, until told to end."""
    for name in LOADED:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever has ended is not waited for
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        print("ready", flush=True)
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            asking, _ = listening.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listening.close()
                os._exit(_look_after(asking))
            asking.close()


def _look_after(asking: socket.socket) -> int:
    """Run what is asked for, and say how it ended. It is told to end when whoever asked was told to, or has gone."""
    size, files, _, _ = socket.recv_fds(asking, 8, 3)
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += asking.recv(1 << 20)
    program, words, folder, environment = json.loads(asked)
    child = os.fork()
    if child == 0:
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.closerange(3, max(*files, asking.fileno()) + 1)
        if os.isatty(0):
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # its controlling terminal, as it would have from a shell
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        os._exit(_status_of(lambda: _run(program, words)))
    for file in files:
        os.close(file)
    ended = os.pidfd_open(child)
    ready, _, _ = select.select([ended, asking.fileno()], [], [])
    if ended not in ready:
        os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(BrokenPipeError):  # nobody is left who wants to know
        asking.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    return 0


def _run(program: str, words: list[str]) -> None:
    if program == "handraise":
        sys.argv = ["handraise", *words]
        from handraise.cli import main

        main()
    elif words[0].startswith("-"):  # what is loaded already is in the way of some modules: pytest's plugins
        os.execv(sys.executable, [sys.executable, *words])
    else:
        sys.path[0] = str(Path(words[0]).resolve().parent)
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


def _status_of(run: Callable[[], Any]) -> int:
    """The status with which an interpreter that runs this would end."""
    status: Any = 0
    try:
        run()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    if isinstance(status, str):
        print(status, file=sys.stderr)
        status = 1
    atexit._run_exitfuncs()  # as an interpreter does; `os._exit` does not
    sys.stdout.flush()
    sys.stderr.flush()
    return status or 0


if __name__ == "__main__":
    serve(sys.argv[1])
