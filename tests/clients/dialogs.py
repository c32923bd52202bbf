"""Clients with a dialog of their own, at a terminal: what a person sees there, and the keys that they press."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.clients.drivers import DRIVERS, PROMPT
from tests.clients.session import Driver, Launch, Place
from tests.clients.stand_in import StandIn, Step
from tests.pane import Pane, pane

START = 60
"""Seconds for a client to start and to connect to its server."""
READING = 0.7
"""Seconds before the first key: a decline within half a second counts as one that no person made."""
KEY_PAUSE = 0.25
"""Seconds between two keys. Terminal programs tell nobody that they are ready for the next one."""
_SIZE = (100, 45)
_TOOLS = re.compile(rb'"tools":\s*\[')
"""In the server's answer to `tools/list`. Before that, the model would be asked without the tools."""
_TOO_LATE = "TOO LATE"
"""Among keys: wait until the server's question has expired."""

Act = tuple[str, Sequence[str]]
"""What to wait for on the screen, and the keys to press then; a key that starts with a space is typed as text."""


@dataclass(frozen=True, slots=True)
class Dialog:
    """How somebody uses a client at its own terminal."""

    driver: Driver
    acts: dict[str, Sequence[Act]]
    """By the effect of a step. One that is not here is left to itself: the client cannot show it, or nobody answers."""
    ready: str
    """Text on the screen of a client that waits for a prompt."""
    headless: bool = True
    """Whether the client also runs without a terminal."""
    connects_late: bool = False
    """Whether it asks its servers for their tools only after the first prompt."""
    left_out: Sequence[str] = ()
    """Scenarios that its dialog cannot end."""
    waits: Act | None = None
    """A dialog that waits until a link is finished, and the keys that leave it.

    After a slow start a client speaks an older revision, and shows it also when the server does not wait for the link.
    """

    def sit(self, launch: Launch, environment: dict[str, str], folder: Path, model: StandIn) -> str:
        """Use the client until the model has finished; its last screen."""
        command = [str(part) for part in launch.command]
        terminal = {"TERM": "screen-256color", "COLORTERM": "truecolor"}
        with pane(command, folder / "work", {**environment, **terminal}, _SIZE) as client:
            with suppress(AssertionError):
                client.sees(self.ready, seconds=START)
                if not self.connects_late:
                    _wait(lambda: _TOOLS.search(_read(folder / "from-server")), START)
                _press(client, [f" {PROMPT}", "Enter"])
                _wait(lambda: model.called.is_set() or model.too_early.is_set(), START)
                if model.too_early.is_set():
                    return "\n".join(client.screen())
                for step in model.script:
                    for needle, keys in self.acts.get(step.effect, ()):
                        _wait(partial(self._shows_or_over, client, needle, model, step), 30)
                        if _over(model, step):
                            break
                        time.sleep(READING)
                        _press(client, keys)
                _wait(model.finished.is_set, 40)
            return "\n".join(client.screen())

    def _shows_or_over(self, client: Pane, needle: str, model: StandIn, step: Step) -> bool:
        screen = "\n".join(client.screen())
        if self.waits is not None and self.waits[0] in screen:
            _press(client, self.waits[1])
        return needle in screen or _over(model, step)


def _over(model: StandIn, step: Step) -> bool:
    """Whether the model has the result of a step, so that no more keys are needed for it."""
    return any(each.step == step for each in model.made())


def _read(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""


def _wait(condition: Callable[[], object], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.1)


def _press(client: Pane, keys: Sequence[str]) -> None:
    for key in keys:
        time.sleep(KEY_PAUSE if key != _TOO_LATE else 3)
        if key == _TOO_LATE:
            continue
        if key.startswith(" "):
            client.type(key[1:])
        else:
            client.keys(key)


def _claude_code(place: Place) -> Launch:
    made = DRIVERS["claude-code"](place)
    return Launch([made.command[0], *made.command[3:]], made.environment)


def _codex(place: Place) -> Launch:
    made = DRIVERS["codex"](place)
    return Launch(made.command[:2], made.environment)


def _copilot(place: Place) -> Launch:
    made = DRIVERS["copilot-cli"](place)
    return Launch([made.command[0], *made.command[3:]], made.environment)


def _goose(place: Place) -> Launch:
    made = DRIVERS["goose"](place)
    return Launch([made.command[0], "session"], made.environment)


_CLAUDE_FORM = (
    *(" Ada", "Down", " ada@example.com", "Down", " 2026-12-24", "Down", " 2", "Down", " 12.5", "Down"),
    *(
        "Space",
        "Down",
        "Right",
        "Down",
        "Space",
        "Down",
        "Right",
        "Down",
        "Space",
        "Down",
        "Space",
        "Down",
        "Enter",
    ),
)

_COPILOT_FORM = (
    *(" Ada", "Tab", " ada@example.com", "Tab", " 2026-12-24", "Tab", " 2", "Tab", " 12.5", "Tab"),
    *("Enter", "Down", "Enter", "Down", "Space", "Down", "Space", "Enter"),
)
_GOOSE_FORM = (
    *(" Ada", "Enter", " ada@example.com", "Enter", " 2026-12-24", "Enter", " 2", "Enter", " 12.5", "Enter"),
    *("Left", "Enter", " large", "Enter", " card, box", "Enter"),
)

_GOOSE_FORM_AGAIN = (*("Enter",) * 7, " card, box", "Enter")
"""Goose sends text for a list, which the server refuses; then the other fields have their values already."""

DIALOGS: dict[str, Dialog] = {
    "claude-code": Dialog(
        _claude_code,
        {
            "confirm accept": [("Delete the folder “accept”?", ("Space", "Down", "Enter"))],
            "form accept": [("Order “accept”", _CLAUDE_FORM)],
            "link accept": [("wants to open a URL", ("Enter",)), ("Open again", ("Enter",))],
            "two accept": [
                ("Which colour for “accept”?", (" blue", "Down", "Enter")),
                ("Which size for “accept”?", (" blue", "Down", "Enter")),
            ],
            "confirm decline": [("Delete the folder “decline”?", ("Down", "Right", "Enter"))],
            "confirm cancel": [("Delete the folder “cancel”?", ("Escape",))],
            # its dialog stays after the server gave up: on 2026-07-28 nothing takes a question back
            "briefly nobody": [("Delete the folder “nobody” now?", (_TOO_LATE, "Space", "Down", "Enter"))],
        },
        "for agents",
        waits=("Skip confirmation", ("Right", "Enter")),
    ),
    "codex": Dialog(
        _codex,
        {
            "confirm accept": [("Delete the folder “accept”?", ("Enter",))],
            "two accept": [
                ("Which colour for “accept”?", (" blue", "Enter")),
                ("Which size for “accept”?", (" blue", "Enter")),
            ],
            "confirm decline": [("Delete the folder “decline”?", ("Down", "Enter"))],
            "confirm cancel": [("Delete the folder “cancel”?", ("Escape",))],
        },
        "for agents",
    ),
    "copilot-cli": Dialog(
        _copilot,
        {
            "confirm accept": [("Delete the folder “accept”?", ("Enter",))],
            "form accept": [("Order “accept”", _COPILOT_FORM)],
            "link accept": [("wants you to visit", ("Enter",))],
            "two accept": [
                ("Which colour for “accept”?", (" blue", "Enter")),
                ("Which size for “accept”?", (" blue", "Enter")),
            ],
            "confirm decline": [("Delete the folder “decline”?", ("C-d",))],
            "confirm cancel": [("Delete the folder “cancel”?", ("Escape",))],
            "briefly nobody": [("Delete the folder “nobody” now?", (_TOO_LATE, "Enter"))],
        },
        "/ commands",
    ),
    "goose": Dialog(
        _goose,
        {
            "confirm accept": [("Delete the folder “accept”?", ("Left", "Enter"))],
            "form accept": [("Order “accept”", _GOOSE_FORM), ("could not be used", _GOOSE_FORM_AGAIN)],
            "two accept": [
                ("Which colour for “accept”?", (" blue", "Enter")),
                ("Which size for “accept”?", (" blue", "Enter")),
            ],
            "confirm decline": [("Delete the folder “decline”?", ("Enter",))],
            "briefly nobody": [("Delete the folder “nobody” now?", (_TOO_LATE, "Left", "Enter"))],
        },
        "Enter to send",
        headless=False,
        connects_late=True,
        left_out=("cancel",),  # its Ctrl+C ends the turn
    ),
}
