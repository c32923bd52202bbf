"""What `handraise gateway doctor` found, for a person: at most eighty columns, and nothing hidden in it."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Mapping
from typing import Any, Final

from handraise.display import for_line

_COLUMNS: Final = 80
_LONGEST: Final = 2000
_PASSWORD: Final = re.compile(r"(?<=:)[^:@/]*(?=@)|(?<=password=)[^&]*")


def own_options() -> dict[str, dict[str, Any]]:
    """What counts for a gateway that is started now, and who says so. No password is in it."""
    from handraise.gateway.choosing import choices
    from handraise.stores.named import own_store_file

    chosen = {name: (each.value, each.by) for name, each in choices({}, os.environ).items()}
    value, by = chosen["store"]
    chosen["store"] = (_PASSWORD.sub("…", value) or str(own_store_file(os.environ)), by)
    return {name: {"value": value, "by": by} for name, (value, by) in chosen.items()}


def own_desk() -> dict[str, bool]:
    """How the desk knows its person: whether the system tells which program connects, else by the desk code."""
    from handraise.desks.desk_code import desk_code_file
    from handraise.processes import can_tell

    return {"process_facts": can_tell(), "desk_code": desk_code_file(os.environ).is_file()}


def _desk(desk: Mapping[str, bool]) -> str:
    if desk["process_facts"]:
        return "Your desk opens to your own programs, and to none that a client started."
    made = "You made one." if desk["desk_code"] else "Make it now: handraise desk code"
    return f"This system does not tell which program asks, so your desk opens with your desk code. {made}"


def as_text(report: Mapping[str, Any]) -> str:
    """The whole report."""
    lines = ["A gateway that is started now, without flags of its own:"]
    lines += [line for name, told in report["options"].items() for line in _option(name, told)]
    lines += ["", *_wrapped(_desk(report["desk"]), 0)]
    if not report["clients"]:
        lines += ["", "No client that we know is configured here."]
    for client in report["clients"]:
        lines += ["", *_client(client)]
    return "\n".join(lines)


def _option(name: str, told: Mapping[str, Any]) -> list[str]:
    value = told["value"]
    shown = (
        str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else value
    )
    return _wrapped(f"{name:<8} {shown or 'none'}  ({told['by']})", 2, behind=9)


def _client(client: Mapping[str, Any]) -> list[str]:
    lines = _wrapped(f"{client['client']}  ({client['file']})", 0, behind=2)
    lines += _wrapped(f"asks by itself: {client['asks']}, as of {client['as_of']}", 2)
    lines += [line for key in ("note", "problem") if client[key] for line in _wrapped(client[key], 2)]
    return lines + [line for server in client["servers"] for line in _server(server)]


def _server(server: Mapping[str, Any]) -> list[str]:
    way = "through the gateway" if server["through_gateway"] else "not through the gateway"
    lines = _wrapped(f"{server['server']}: {way}", 2)
    if server.get("speaks"):
        claimed = server["calls_itself"] or "nothing"
        lines += _wrapped(f"speaks {' and '.join(server['speaks'])}; calls itself {claimed}", 4)
        lines += _wrapped(f"offers {', '.join(server['offers']) or 'nothing'}", 4)
    if server["problem"]:
        lines += _wrapped(server["problem"], 4)
    return lines + _wrapped(f"a question: {server['then']}", 4)


def _wrapped(text: str, indent: int, behind: int = 2) -> list[str]:
    """One line, or several of which the later ones stand further in."""
    return textwrap.wrap(
        for_line(text, limit=_LONGEST),
        _COLUMNS,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + behind),
        break_on_hyphens=False,
        break_long_words=False,
    )
