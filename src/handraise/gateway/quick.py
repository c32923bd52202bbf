"""The short way from the command line to a running server: nothing is imported that the server need not wait for."""

from __future__ import annotations

import os
import sys

from handraise.gateway.choosing import choose_options, may_serve_http
from handraise.gateway.upstreams import Upstream, short_name


def run_quickly(words: list[str]) -> int | None:
    """Run `handraise gateway OPTIONS -- COMMAND…`; None when the words need the whole command line to be understood."""
    at = words.index("--") if "--" in words else len(words)
    command = tuple(words[at + 1 :])
    read = read_flags(words[:at])
    if not command or read is None or ("http" not in read[1] and may_serve_http(os.environ)):
        return None
    name, flags = read
    from handraise.errors import SetupError
    from handraise.gateway.lines.spawn import start

    upstream = Upstream(name or short_name(command), command)
    try:
        process = start(upstream)
    except SetupError as error:
        print(f"handraise: {error}", file=sys.stderr)
        return 2
    try:
        options = choose_options(flags)
    except SetupError as error:
        process.kill()
        process.communicate()
        print(f"handraise: {error}", file=sys.stderr)
        return 2
    from handraise.gateway.serve import run

    return run(upstream, process, options)


_SWITCHES = {
    "--stdio": ("http", ""),
    "--browser": ("browser", True),
    "--no-browser": ("browser", False),
    "--notify": ("notify", True),
    "--no-notify": ("notify", False),
}
_DIGITS = {"--hold": 3, "--wait": 6}
"""As many as are surely within bounds."""


def read_flags(words: list[str]) -> tuple[str | None, dict[str, object]] | None:
    """The name and the flags that some words give; None for anything that is wrong or unusual."""
    name, flags, rest = None, dict[str, object](), iter(words)
    for word in rest:
        flag, _, value = word.partition("=")
        if word in _SWITCHES:
            option, said = _SWITCHES[word]
            flags[option] = said
            continue
        value = value or next(rest, "")
        if flag == "--name" and value:
            name = value
        elif flag == "--store" and value:
            flags["store"] = value
        elif flag == "--desk" and value in ("fallback", "always", "none"):
            flags["desk"] = value
        elif value.isascii() and value.isdigit() and len(value) <= _DIGITS.get(flag, 0):
            flags[flag.removeprefix("--")] = float(value)
        else:
            return None
    return name, flags
