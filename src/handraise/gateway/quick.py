"""The short way from the command line to a running server: nothing is imported that the server need not wait for."""

from __future__ import annotations

import sys
from dataclasses import replace

from handraise.gateway.options import Options
from handraise.gateway.upstreams import Upstream, short_name


def run_quickly(words: list[str]) -> int | None:
    """Run `handraise gateway OPTIONS -- COMMAND…`; None when the words need the whole command line to be understood."""
    at = words.index("--") if "--" in words else len(words)
    command = tuple(words[at + 1 :])
    read = _options(words[:at])
    if not command or read is None:
        return None
    name, options = read
    from handraise.errors import SetupError
    from handraise.gateway.spawn import start

    upstream = Upstream(name or short_name(command), command)
    try:
        process = start(upstream)
    except SetupError as error:
        print(f"handraise: {error}", file=sys.stderr)
        return 2
    from handraise.gateway.serve import run

    return run(upstream, process, options)


def _options(words: list[str]) -> tuple[str | None, Options] | None:
    """The name and the options that some words give; None for anything that is wrong or unusual."""
    name, options, rest = None, Options(), iter(words)
    for word in rest:
        flag, _, value = word.partition("=")
        if flag == "--browser" and not value:
            options = replace(options, browser=True)
            continue
        value = value or next(rest, "")
        if flag == "--name" and value:
            name = value
        elif flag == "--desk" and value in ("fallback", "always", "none"):
            options = replace(options, desk=value)  # type: ignore[arg-type]
        elif flag == "--hold" and value.isdigit():
            options = replace(options, hold=float(value))
        elif flag == "--wait" and value.isdigit():
            options = replace(options, wait=float(value))
        else:
            return None
    return name, options
