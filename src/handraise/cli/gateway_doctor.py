"""`handraise gateway doctor`: what clients and servers can do, and what will happen when a question comes."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handraise.cli.options import AsJson
from handraise.cli.telling import telling
from handraise.errors import HandraiseError

if TYPE_CHECKING:
    from handraise.gateway.clients.table import KnownClient
    from handraise.gateway.options import Options
    from handraise.gateway.upstreams import Upstream

EXAMPLES = """Examples:

\b
  handraise gateway doctor
  handraise gateway doctor --client cursor --json
  handraise gateway doctor --no-probe

Exit status: 0, also when a server does not answer; 2 for wrong use or a configuration file that cannot be used.
"""


def doctor(
    client: Annotated[str | None, typer.Option("--client", help="Only this client.")] = None,
    probe: Annotated[bool, typer.Option(help="Start every server, and ask it what it speaks.")] = True,
    as_json: AsJson = False,
) -> None:
    """Say what happens when a question comes, client by client.

    That is what each configured client and server can do. Also which options a gateway takes, and whether the
    environment, your file or the default says so. Servers are started as the client would start them, for ten seconds
    at most, and those of 2026-07-28 once more to see whether they speak a revision before it, too; no tool is called.
    """
    from handraise.cli.gateway_findings import as_text, own_desk, own_options
    from handraise.gateway.clients.table import CLIENTS

    if client is not None and client not in CLIENTS:
        raise typer.BadParameter(f"known are {', '.join(CLIENTS)}", param_hint="--client")
    with telling():
        options = own_options()
        found = [
            told
            for name, known in CLIENTS.items()
            if client in (None, name)
            for told in _examine_all(known, probe)
        ]
    report = {"options": options, "desk": own_desk(), "clients": found}
    typer.echo(json.dumps(report, indent=2, ensure_ascii=False) if as_json else as_text(report))


def _examine_all(client: KnownClient, probing: bool) -> list[dict[str, Any]]:
    """Its own file, and what it has for this folder."""
    told = [_examine(client, client.path(), probing)]
    for known, path, _ in client.in_folder(Path.cwd()):
        here = _examine(known, path, probing)
        told.append(here if here and (here["servers"] or here["problem"]) else None)
    return [each for each in told if each is not None]


def _examine(client: KnownClient, path: Path, probing: bool) -> dict[str, Any] | None:
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
    from handraise.gateway.clients.entries import through
    from handraise.gateway.clients.forecast import forecast
    from handraise.gateway.clients.probing import probe

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
    """What the gateway in front of a server is told: by its own flags first, as far as they are usual ones."""
    from handraise.gateway.choosing import choices, options_of
    from handraise.gateway.clients.entries import gateway_words
    from handraise.gateway.quick import read_flags

    words = gateway_words(client, entry) or []
    ours = words[: next((at for at, word in enumerate(words) if word in ("--", "--url")), len(words))]
    read = read_flags(ours)
    return options_of(choices({} if read is None else read[1], os.environ))


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
