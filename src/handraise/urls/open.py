"""Open a link or a page in the person's browser, and never say so when it did not happen.

The only part of this package that touches the system. No shell is involved: the opener gets one argument, a link in its
normalised http(s) form or the path of a file of ours.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from handraise.urls.inspect import Inspection

Hindrance = Literal["danger", "not_web", "ssh", "no_display", "no_opener", "failed", "unconfirmed"]

HINDRANCES: Final[Mapping[Hindrance, str]] = MappingProxyType(
    {
        "danger": "This link is dangerous and was not opened.",
        "not_web": "This is not a web address and was not opened.",
        "ssh": "You are connected from another computer; open the link in the browser there.",
        "no_display": "There is no screen here to open a browser on; open the link yourself.",
        "no_opener": "No program was found that opens links here; open the link yourself.",
        "failed": "The browser could not be started; open the link yourself.",
        "unconfirmed": "The browser has not answered yet; if nothing opened, open the link yourself.",
    }
)
"""The sentence to show for each reason why a link was not opened."""

_PATIENCE: Final = 10.0
_NOT_FOUND: Final[Mapping[str, Hindrance]] = {"no_display": "no_display", "no_opener": "no_opener"}


@dataclass(frozen=True, slots=True)
class Opened:
    """The system took the link and reported success."""

    href: str


@dataclass(frozen=True, slots=True)
class NotOpened:
    """The link was not opened, as far as we know. `href` is for printing; None if nobody should follow the link."""

    reason: Hindrance
    href: str | None

    @property
    def sentence(self) -> str:
        return HINDRANCES[self.reason]


def open_url(
    inspection: Inspection,
    *,
    environment: Mapping[str, str] | None = None,
    platform: str = sys.platform,
    patience: float = _PATIENCE,
) -> Opened | NotOpened:
    """Open the link of an inspection that is not danger. Call it only after the person consented.

    The system's opener has `patience` seconds to report success.
    """
    href = inspection.href
    if inspection.verdict == "danger" or href is None:
        return NotOpened("danger", None)
    if not href.startswith(("https://", "http://")):
        return NotOpened("not_web", None)
    environment = os.environ if environment is None else environment
    if (hindrance := known_hindrance(environment, platform)) is not None:
        return NotOpened(hindrance, href)
    return _open(href, environment, platform, patience)


def known_hindrance(
    environment: Mapping[str, str] | None = None, platform: str = sys.platform
) -> Hindrance | None:
    """What keeps every link from being opened here; None when only a try can tell."""
    environment = os.environ if environment is None else environment
    if "SSH_CONNECTION" in environment or "SSH_TTY" in environment:
        return "ssh"
    return _NOT_FOUND.get(find_opener(environment, platform))


def open_file(file: Path, *, platform: str = sys.platform) -> Opened | NotOpened:
    """Open a web page that we wrote to a file. The browser's arguments then say where it is, and not what is in it."""
    return _open(str(file), os.environ, platform, _PATIENCE)


def find_opener(
    environment: Mapping[str, str] | None = None, platform: str = sys.platform
) -> str | Hindrance:
    """The program that would open a page here (on Windows: Python's own function); or what hinders it."""
    environment = os.environ if environment is None else environment
    if platform == "win32":
        return "startfile" if hasattr(os, "startfile") else "no_opener"
    if platform != "darwin" and not (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        return "no_display"
    opener = "open" if platform == "darwin" else "xdg-open"
    return shutil.which(opener, path=environment.get("PATH", os.defpath)) or "no_opener"


def _open(target: str, environment: Mapping[str, str], platform: str, patience: float) -> Opened | NotOpened:
    program = find_opener(environment, platform)
    if (hindrance := _NOT_FOUND.get(program)) is not None:
        return NotOpened(hindrance, target)
    try:
        if platform == "win32":
            getattr(os, program)(target)
            return Opened(target)
        process = subprocess.Popen(  # noqa: S603 - an argument list, and the link is normalised http(s)
            [program, target],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return NotOpened("failed", target)
    try:
        return Opened(target) if process.wait(patience) == 0 else NotOpened("failed", target)
    except subprocess.TimeoutExpired:
        # Some openers stay for as long as the browser runs: leave it alone, but claim nothing.
        threading.Thread(target=process.wait, daemon=True).start()
        return NotOpened("unconfirmed", target)
