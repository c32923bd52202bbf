"""`handraise gateway doctor`: what clients and servers can do, and what will happen when a question comes."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handraise.cli.check import AsJson
from handraise.errors import HandraiseError

if TYPE_CHECKING:
    from handraise.gateway.clients.table import KnownClient
    from handraise.gateway.upstreams import Upstream

EXAMPLES = """Examples:

\b
  handraise gateway doctor
  handraise gateway doctor --client cursor --json
  handraise gateway doctor --no-probe

Exit status: 0, also when a server does not answer; 2 for wrong use.
"""


def doctor(
    client: Annotated[str | None, typer.Option("--client", help="Only this client.")] = None,
    probe: Annotated[bool, typer.Option(help="Start every server, and ask it what it speaks.")] = True,
    as_json: AsJson = False,
) -> None:
    """Say what each configured client and server can do, and what will happen when a question comes.

    Servers are started as the client would start them, for ten seconds at most; no tool is called.
    """
    from handraise.gateway.clients.table import CLIENTS

    if client is not None and client not in CLIENTS:
        raise typer.BadParameter(f"known are {', '.join(CLIENTS)}", param_hint="--client")
    found = [
        told
        for name, known in CLIENTS.items()
        if client in (None, name) and (told := asyncio.run(_examine(known, probe))) is not None
    ]
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else _text(found))


async def _examine(client: KnownClient, probing: bool) -> dict[str, Any] | None:
    path = client.path()
    if not path.is_file():
        return None
    told: dict[str, Any] = {
        "client": client.id,
        "file": str(path),
        "asks": client.asks,
        "as_of": client.as_of,
    }
    told |= {"source": client.source, "note": client.note, "servers": [], "problem": None}
    if client.syntax == "by hand":
        return told | {"problem": "its file is YAML, which is not read"}
    from handraise.gateway.clients.rewriting import servers_in

    try:
        entries = servers_in(client, path.read_text(encoding="utf-8"))[1]
    except (HandraiseError, OSError, UnicodeDecodeError) as error:
        return told | {"problem": str(error)}
    told["servers"] = [await _server(client, name, entry, probing) for name, entry in entries.items()]
    return told


async def _server(client: KnownClient, name: str, entry: object, probing: bool) -> dict[str, Any]:
    from handraise.gateway.clients.entries import through
    from handraise.gateway.clients.forecast import forecast
    from handraise.gateway.clients.probing import probe

    behind = through(client, entry)
    told: dict[str, Any] = {"server": name, "through_gateway": behind is not None}
    told["then"] = forecast(client, through_gateway=behind is not None)
    upstream = _upstream(client, name, entry, behind)
    if upstream is None:
        return told | {"problem": "its entry is not of a kind that we know"}
    if not probing:
        return told | {"problem": None}
    seen = await probe(upstream)
    return told | {"speaks": list(seen.revisions), "calls_itself": seen.calls_itself, "problem": seen.problem}


def _upstream(
    client: KnownClient, name: str, entry: object, behind: list[str] | str | None
) -> Upstream | None:
    from handraise.gateway.clients.entries import command_of
    from handraise.gateway.upstreams import Upstream

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


def _text(found: list[dict[str, Any]]) -> str:
    from handraise.display import for_line

    lines = [] if found else ["No client that we know is configured here."]
    for client in found:
        lines += [
            f"{client['client']}  ({for_line(client['file'])})",
            f"  asks by itself: {client['asks']}, as of {client['as_of']}",
        ]
        lines += [f"  {for_line(client[key])}" for key in ("note", "problem") if client[key]]
        for server in client["servers"]:
            way = "through the gateway" if server["through_gateway"] else "not through the gateway"
            lines.append(f"  {for_line(server['server'])}: {way}")
            if server.get("speaks"):
                claimed = for_line(server["calls_itself"] or "nothing")
                lines.append(f"    speaks {for_line(', '.join(server['speaks']))}; calls itself {claimed}")
            if server["problem"]:
                lines.append(f"    {for_line(server['problem'])}")
            lines.append(f"    a question: {server['then']}")
    return "\n".join(lines)
