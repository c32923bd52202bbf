"""`handraise gateway doctor`: the abilities of clients and servers, and the path of a question."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from handraise.cli.common import AsJson
from handraise.cli.gateway import options_in
from handraise.display import for_line
from handraise.errors import HandraiseError
from handraise.gateway.clients.table import CLIENTS, KnownClient
from handraise.gateway.upstreams import Upstream

if TYPE_CHECKING:
    from handraise.gateway.options import Options

EXAMPLES = """Examples:

\b
  handraise gateway doctor
  handraise gateway doctor --client cursor --json
  handraise gateway doctor --no-probe

Exit status: 0, also when a server does not answer; 2 for wrong use or a configuration file that cannot be used.
"""


def doctor(
    client: Annotated[str | None, typer.Option("--client", help="Only this client.")] = None,
    probe: Annotated[bool, typer.Option(help="Start every server, to see which revisions it speaks.")] = True,
    as_json: AsJson = False,
) -> None:
    """Show, for each of your clients, where you would be asked.

    Shows the abilities of each configured client and server, and the options of a gateway with the source of each
    value: the environment, your file or the default. It starts each server as the client would, for ten seconds at
    most, and servers of 2026-07-28 twice, to find out whether they also speak an older revision. It calls no tool.
    """
    if client is not None and client not in CLIENTS:
        raise typer.BadParameter(
            f"{client!r} is not a known client; use {', '.join(CLIENTS)}", param_hint="--client"
        )
    options = own_options()
    found = [
        told
        for name, known in CLIENTS.items()
        if client in (None, name)
        for told in _examine_all(known, probe)
    ]
    report = {"options": options, "desk": own_desk(), "clients": found, "seen": seen_clients()}
    typer.echo(
        json.dumps(report, indent=2) if as_json else as_text(report)
    )  # a name of a server may be in it


def _examine_all(client: KnownClient, probing: bool) -> list[dict[str, Any]]:
    """Examine a client's own files and its entries for this folder."""
    told = [_examine(client, path, probing) for path in client.paths()]
    for known, path, _ in client.in_folder(Path.cwd()):
        here = _examine(known, path, probing)
        told.append(here if here and (here["servers"] or here["problem"]) else None)
    return [each for each in told if each is not None]


def _examine(client: KnownClient, path: Path, probing: bool) -> dict[str, Any] | None:
    import asyncio

    if not path.is_file():
        return None
    told: dict[str, Any] = {
        "client": client.id,
        "file": str(path),
        "asks": client.asks,
        "as_of": client.as_of,
        "source": client.source,
        "note": client.note,
        "servers": [],
        "problem": None,
    }
    from handraise.gateway.clients.rewriting import servers_in

    try:
        entries = servers_in(client, path.read_text(encoding="utf-8"))[1]
    except (HandraiseError, OSError, UnicodeDecodeError) as error:
        return told | {"problem": str(error)}
    told["servers"] = [asyncio.run(_server(client, name, entry, probing)) for name, entry in entries.items()]
    return told


async def _server(client: KnownClient, name: str, entry: object, probing: bool) -> dict[str, Any]:
    from handraise.gateway.clients.forecast import forecast, probe
    from handraise.gateway.clients.rewriting import through

    behind = through(client, entry)
    told: dict[str, Any] = {"server": name, "through_gateway": behind is not None}
    options = None if behind is None else _gateway(client, entry)
    told["then"] = forecast(client, options)
    upstream = _upstream(client, name, entry, behind)
    if upstream is None:
        return told | {"problem": "its entry is not of a kind that we know"}
    if not probing:
        return told | {"problem": None}
    seen = await probe(upstream)
    return told | {
        "speaks": list(seen.revisions),
        "offers": list(seen.offers),
        "calls_itself": seen.calls_itself,
        "problem": seen.problem,
        "then": forecast(client, options, seen.revisions),
    }


def _gateway(client: KnownClient, entry: object) -> Options:
    """The options of the gateway in front of a server: its own flags first."""
    from handraise.gateway.clients.rewriting import gateway_words

    words = gateway_words(client, entry) or []
    return options_in(words[: words.index("--") if "--" in words else len(words)])


def _upstream(
    client: KnownClient, name: str, entry: object, behind: list[str] | str | None
) -> Upstream | None:
    from handraise.gateway.clients.rewriting import command_of

    known = entry if isinstance(entry, dict) else {}
    environment = known.get("environment" if client.one_list else "env")
    words = behind if isinstance(behind, list) else None if behind else command_of(client, entry)
    url = behind if isinstance(behind, str) else known.get(client.url_key)
    if words:
        return Upstream(name, tuple(words), environment=_words(environment), directory=known.get("cwd"))
    headers = known.get("headers")
    return Upstream(name, url=url, headers=_words(headers)) if isinstance(url, str) else None


def _words(given: object) -> dict[str, str]:
    known = given if isinstance(given, dict) else {}
    return {name: value for name, value in known.items() if isinstance(value, str)}


_COLUMNS: Final = 80
_LONGEST: Final = 2000
_PASSWORD: Final = re.compile(r"(?<=:)[^:@/]*(?=@)|(?<=password=)[^&]*")


def own_options() -> dict[str, dict[str, Any]]:
    """The settings of a gateway that starts now, with the source of each, without passwords."""
    from handraise.gateway.options import choices
    from handraise.stores import own_store_file

    chosen = {name: (each.value, each.by) for name, each in choices({}, os.environ).items()}
    value, by = chosen["store"]
    chosen["store"] = (_PASSWORD.sub("…", value) or str(own_store_file(os.environ)), by)
    return {name: {"value": value, "by": by} for name, (value, by) in chosen.items()}


def own_desk() -> dict[str, bool]:
    """How the desk recognises its person: by the connecting program, or by the desk code."""
    from handraise.desks.codes import desk_code_file
    from handraise.processes import can_tell

    return {"process_facts": can_tell(), "desk_code": desk_code_file(os.environ).is_file()}


def seen_clients() -> dict[str, dict[str, Any]]:
    """How clients handled questions so far, by name and version."""
    from handraise.gateway.client_desk import load_habits
    from handraise.gateway.state import habits_file

    return {name: asdict(seen) for name, seen in load_habits(habits_file(os.environ)).items()}


_HABITS: Final = {
    "answered": "answered {}",
    "too_fast": "answered {} too fast for a person",
    "incomplete": "accepted {} without content",
    "failed": "failed to ask {}",
    "unanswered": "left {} unanswered",
}


def _seen(name: str, seen: Mapping[str, Any]) -> list[str]:
    """One line about a client: how it handled its questions so far."""
    did = [text.format(seen[habit]) for habit, text in _HABITS.items() if seen.get(habit)]
    last = "" if seen.get("last") in ("", "answered") else "; its questions come to your desk, too"
    return _wrapped(f"{name}: {', '.join(did)}{last}", 2)


def _desk(desk: Mapping[str, bool]) -> str:
    if desk["process_facts"]:
        return "Your desk opens to your own programs, and to none that a client started."
    made = "You made one." if desk["desk_code"] else "Make it now: handraise desk code"
    return f"This system does not tell which program asks, so your desk opens with your desk code. {made}"


def as_text(report: Mapping[str, Any]) -> str:
    """The whole report."""
    lines = ["A gateway that is started now, without flags of its own:"]
    lines += [line for name, told in report["options"].items() for line in _option_lines(name, told)]
    lines += ["", *_wrapped(_desk(report["desk"]), 0)]
    if report["seen"]:
        lines += ["", "How clients handled questions so far:"]
        lines += [line for name, seen in report["seen"].items() for line in _seen(name, seen)]
    if not report["clients"]:
        lines += ["", "No client that we know is configured here."]
    for client in report["clients"]:
        lines += ["", *_client_lines(client)]
    return "\n".join(lines)


def _option_lines(name: str, told: Mapping[str, Any]) -> list[str]:
    value = told["value"]
    shown = (
        str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else value
    )
    return _wrapped(f"{name:<8} {shown or 'none'}  ({told['by']})", 2, behind=9)


def _client_lines(client: Mapping[str, Any]) -> list[str]:
    lines = _wrapped(f"{client['client']}  ({client['file']})", 0, behind=2)
    lines += _wrapped(f"asks by itself: {client['asks']}, as of {client['as_of']}", 2)
    lines += [line for key in ("note", "problem") if client[key] for line in _wrapped(client[key], 2)]
    return lines + [line for server in client["servers"] for line in _server_lines(server)]


def _server_lines(server: Mapping[str, Any]) -> list[str]:
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
    """Wrap a text, with a deeper indentation from the second line on."""
    return textwrap.wrap(
        for_line(text, limit=_LONGEST),
        _COLUMNS,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + behind),
        break_on_hyphens=False,
        break_long_words=False,
    )
