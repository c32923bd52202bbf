"""A person who answers at the desk of a gateway that is a process: through its door, and then without a window."""

from __future__ import annotations

import html
import json
import os
import pty
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx2

from handraise.desks.queue import ARMED_AFTER

T = TypeVar("T")


def until(look: Callable[[], T | None], every: float = 0.02) -> T:
    """Wait until there is something to see, bounded."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if seen := look():
            return seen
        time.sleep(every)
    raise AssertionError("it never came")


def door(runtime: Path, pid: int) -> Path:
    """The door of a gateway's desk, once it has one."""
    return until(lambda: next((runtime / "handraise").glob(f"{pid}-*.desk"), None))


def waiting(at: Path) -> bool:
    """Whether something waits behind a door."""
    return bool(_knock(at, "look").get("waiting"))


def answer(at: Path, **fields: str) -> None:
    """Answer the one question that waits behind a door."""
    link = at_a_terminal(lambda: _knock(at, "sign in"))["link"]
    base = link.partition("/sign-in/")[0]
    with httpx2.Client(base_url=base, headers={"origin": base}) as browser:
        place = browser.post(link, data={"do": ""})
        browser.headers["cookie"] = place.headers["set-cookie"].partition(";")[0]
        inbox = browser.get(place.headers["location"]).text
        (question,) = set(re.findall(r'href="([^"]+/q/[0-9a-f]+)"', inbox))
        token = {"csrf": _value("csrf", browser.get(question).text)}
        browser.post(question, data={**token, "fields": "here", "do": "review", **fields})
        sent = {**token, "do": "send", "seen": _value("seen", browser.get(f"{question}/review").text)}
        until(lambda: browser.post(question, data=sent).status_code == 303, every=2 * ARMED_AFTER)


def at_a_terminal(do: Callable[[], dict[str, str]]) -> dict[str, str]:
    """What somebody gets who does this at a terminal of their own."""
    child, terminal = pty.fork()
    if child == 0:
        os.write(1, json.dumps(do()).encode())
        os._exit(0)
    shown = b""
    try:
        while chunk := os.read(terminal, 4096):
            shown += chunk
    except OSError:  # the terminal is gone with the child
        pass
    os.close(terminal)
    os.waitpid(child, 0)
    seen: dict[str, str] = json.loads(shown)
    return seen


def _knock(at: Path, what: str) -> dict[str, str]:
    with socket.socket(socket.AF_UNIX) as visit:
        visit.connect(str(at))
        visit.sendall(json.dumps({"do": what}).encode() + b"\n")
        told: dict[str, str] = json.loads(visit.makefile().readline())
        return told


def _value(name: str, page: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]+)"', page)
    assert found is not None, page
    return html.unescape(found[1])
