"""What a gateway is told to do: by its flags, else the environment, else the user's file, else the defaults."""

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
"""Those with a setting of the same name; the store has a table of its own."""


@dataclass(frozen=True, slots=True)
class Options:
    """The choices of whoever runs the gateway."""

    desk: Desk = "auto"
    """Who is asked at our desk: those whose client does not ask them, everybody, or nobody."""
    hold: float = 45.0
    """Seconds for which a call is held while its person is asked."""
    wait: float = 24 * 3600.0
    """Seconds for which a question waits for its person."""
    grace: float = 600.0
    """Seconds for which a question at our desk stays answerable after its client cancelled the call."""
    too_fast: float = FASTER_THAN_READING
    """An answer of the client's within these seconds is not a person's."""
    browser: bool = False
    """Whether the desk is opened in the browser when a question comes."""
    notify: bool = True
    """Whether the system tells the person that a question came."""
    store: str = ""
    """Where parked calls are kept: `postgresql://…`, or a file; empty: one in the user's data directory."""
    unsafe_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """Private networks in which the servers' authorization servers may be."""
    sessions: int = 8
    """How many sessions one person may have at once over HTTP; each has server processes of its own."""
    where: str = "they open it with `handraise inbox` in a terminal of their own"
    """How people get to their desk, for the model to tell them. Never a way in by itself."""
    inbox: str = "run `handraise inbox`"
    """The same for the person, who sees the progress of a call."""


def choices(flags: Mapping[str, object], environment: Mapping[str, str]) -> dict[str, ChosenValue]:
    """Every option by its name, with who said so.

    SetupError names the flag, the variable, or the file and its line whose value cannot be used.
    """
    found = find_config(environment, Path())
    settings = load_settings(environment=environment)
    file = None if found is None else str(found.path)
    keys = {name: f"gateway.{name}" for name in OPTIONS} | {"store": "store.url"}
    return {name: choose(key, flags.get(name), environment, settings, file) for name, key in keys.items()}


def options_of(chosen: Mapping[str, ChosenValue]) -> Options:
    """The same as a value to run by."""
    known = {each.name for each in fields(Options)}
    given: Any = {name: each.value for name, each in chosen.items() if name in known}
    return Options(**given)
