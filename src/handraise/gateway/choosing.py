"""What a gateway is to do: its flags, else the environment, else the user's file, else the defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handraise.gateway.options import Options
from handraise.policy.places import find_config

if TYPE_CHECKING:
    from handraise.policy.chosen import Chosen

OPTIONS: Final = ("desk", "hold", "wait", "browser", "notify", "http", "sessions")
"""Those with a setting of the same name; the store has a table of its own."""
_VARIABLES: Final = ("HANDRAISE_GATEWAY_", "HANDRAISE_STORE")


def may_serve_http(environment: Mapping[str, str]) -> bool:
    """Whether something but a flag may say so. Looked at before anything is started, and so without reading."""
    if environment.get("HANDRAISE_GATEWAY_HTTP"):
        return True
    found = find_config(environment, Path())
    try:
        return found is not None and b"http" in found.path.read_bytes()
    except OSError:
        return True  # whoever reads it says what is wrong


def choose_options(flags: Mapping[str, object]) -> Options:
    """The options that count. Without a file and variables nothing is loaded to find them out.

    SetupError names the flag, the variable, or the file and its line whose value cannot be used.
    """
    environment = os.environ
    if find_config(environment, Path()) is None and not any(
        name.startswith(_VARIABLES) for name in environment
    ):
        given: Any = {name: value for name, value in flags.items() if name != "http"}
        return replace(Options(), **given)
    return options_of(choices(flags, environment))


def choices(flags: Mapping[str, object], environment: Mapping[str, str]) -> dict[str, Chosen]:
    """Every option by its name, with who said so."""
    from handraise.policy.chosen import choose
    from handraise.policy.files import load_settings

    found = find_config(environment, Path())
    settings = load_settings(environment=environment)
    file = None if found is None else str(found.path)
    keys = {name: f"gateway.{name}" for name in OPTIONS} | {"store": "store.url"}
    return {name: choose(key, flags.get(name), environment, settings, file) for name, key in keys.items()}


def options_of(chosen: Mapping[str, Chosen]) -> Options:
    """The same as a value to run by."""
    known = {each.name for each in fields(Options)}
    given: Any = {name: each.value for name, each in chosen.items() if name in known}
    return Options(**given)
