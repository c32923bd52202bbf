"""Options of a gateway: from flags, else the environment, else the user's file, else the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, Final, Literal

from handraise.policy.files import load_settings
from handraise.policy.places import find_config
from handraise.policy.settings import ChosenValue, choose
from handraise.questions import FASTER_THAN_READING

Desk = Literal["auto", "always", "none"]

OPTIONS: Final = ("desk", "hold", "wait", "grace", "too_fast", "browser", "notify", "http", "sessions")
"""Options that have a setting `gateway.<name>`. The store has a table of its own."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one gateway."""

    desk: Desk = "auto"
    """The people who are asked at our desk. `auto`: those whose client does not ask; `always`: all; `none`: nobody."""
    hold: float = 45.0
    """Seconds for which a call is held while its person is asked."""
    wait: float = 24 * 3600.0
    """Seconds for which a question waits for its person."""
    grace: float = 600.0
    """Seconds for which a question at our desk stays answerable after its client cancelled the call."""
    too_fast: float = FASTER_THAN_READING
    """A client's answer within these seconds does not come from a person."""
    browser: bool = False
    """Whether a question opens the desk in the browser."""
    notify: bool = True
    """Whether a question shows a notice on the person's screen."""
    store: str = ""
    """Where parked calls are kept: `postgresql://…`, or a file; empty: one in the user's data directory."""
    unsafe_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """Private networks where a server's authorization server may be."""
    sessions: int = 8
    """How many sessions one person may have at once over HTTP. Each session starts its own server processes."""
    where: str = "they open it with `handraise inbox` in a terminal of their own"
    """How people get to their desk: a text that the model passes on. It never contains a sign-in link."""
    inbox: str = "run `handraise inbox`"
    """The same for the person, in progress notices."""


def choices(flags: Mapping[str, object], environment: Mapping[str, str]) -> dict[str, ChosenValue]:
    """Every option with its value and where the value comes from.

    SetupError names the flag, the variable, or the line of the file that has a bad value.
    """
    found = find_config(environment, Path())
    settings = load_settings(environment=environment)
    file = None if found is None else str(found.path)
    keys = {name: f"gateway.{name}" for name in OPTIONS} | {"store": "store.url"}
    return {name: choose(key, flags.get(name), environment, settings, file) for name, key in keys.items()}


def options_of(chosen: Mapping[str, ChosenValue]) -> Options:
    """The chosen values as `Options`."""
    names = {each.name for each in fields(Options)}
    values: Any = {name: each.value for name, each in chosen.items() if name in names}
    return Options(**values)
