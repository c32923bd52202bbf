"""`handraise gateway`: stand between a client and its servers."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handraise.cli.options import Name, Url
from handraise.cli.telling import telling

if TYPE_CHECKING:
    from handraise.gateway.options import Options
    from handraise.gateway.serve import OpenLink
    from handraise.gateway.shared.serving import Sharing
    from handraise.gateway.upstreams import Upstream
    from handraise.issuers.reach import Network

app = typer.Typer(
    help="Stand between a client and its servers, so that you are asked.\n\n"
    "Put it where your client has the server's command. A client that cannot ask you is no hindrance: you answer at "
    "the desk, which `handraise inbox` opens. Your policy applies to every question, and the ledger keeps it.",
    subcommand_metavar="[-- COMMAND...] | doctor | install | people",
    rich_markup_mode=None,
)

EXAMPLES = """Examples:

\b
  handraise gateway -- npx -y some-server
  handraise gateway --url https://mcp.example.com/mcp
  handraise gateway --config servers.json
  handraise gateway --http 127.0.0.1:8765 -- python server.py

What an option here does not say, the environment says (HANDRAISE_GATEWAY_HOLD for --hold, and so on; HANDRAISE_STORE
for --store), else `[gateway]` and `[store]` in handraise.toml, else the default. `handraise gateway doctor` shows what
counts, and who says so.

Exit status: the server's own over stdio, 0 otherwise; 2 for wrong use or a server that cannot be started.
"""


@app.callback(invoke_without_command=True, epilog=EXAMPLES)
def gateway(
    context: typer.Context,
    url: Url = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A file with `mcpServers`: several servers at once.")
    ] = None,
    name: Name = None,
    client_id: Annotated[
        str | None,
        typer.Option(
            "--client-id",
            help="With --url: what the server's authorization server knows the gateway as, where it does not let "
            "clients register; a secret is read from HANDRAISE_CLIENT_SECRET.",
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="HOST:PORT", help="Serve clients over streamable HTTP, at /mcp."),
    ] = None,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Serve the client that started us, whatever the file says.")
    ] = False,
    desk: Annotated[
        str | None,
        typer.Option(
            "--desk",
            metavar="fallback|always|none",
            help="Who is asked at our desk: those whose client cannot ask (the default), everybody, or nobody.",
        ),
    ] = None,
    hold: Annotated[
        float | None,
        typer.Option("--hold", help="Seconds for which a call is held before it is parked; 45 by default."),
    ] = None,
    wait: Annotated[
        float | None,
        typer.Option("--wait", help="Seconds for which a question waits for you; a day by default."),
    ] = None,
    browser: Annotated[
        bool | None,
        typer.Option(
            "--browser/--no-browser",
            help="Open the desk in your browser when the first question comes; not by default.",
        ),
    ] = None,
    notify: Annotated[
        bool | None,
        typer.Option(
            "--notify/--no-notify",
            help="Have the system show a notice that names the server when a question comes; by default it does.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="Where parked calls are kept: postgresql://… or a file; one in your data directory by default.",
        ),
    ] = None,
    sessions: Annotated[
        int | None,
        typer.Option(
            "--sessions", help="With --http: how many sessions one person may have at once; 8 by default."
        ),
    ] = None,
    people: Annotated[
        Path | None, typer.Option("--people", help="With --http: tell people apart by this file's tokens.")
    ] = None,
    issuer: Annotated[
        str | None, typer.Option("--issuer", help="With --http: tell people apart by this issuer's tokens.")
    ] = None,
    desk_client: Annotated[
        str | None, typer.Option("--desk-client", help="The desk's own client id at the issuer.")
    ] = None,
    public_url: Annotated[
        str | None, typer.Option("--public-url", help="Where people find a shared gateway, without a path.")
    ] = None,
    unsafe_network: Annotated[
        list[str] | None,
        typer.Option(
            "--unsafe-network",
            metavar="CIDR",
            help="A private network in which authorization servers may be. Otherwise the gateway goes only to public "
            "addresses that a server names. May be given several times.",
        ),
    ] = None,
) -> None:
    """Serve one server, or several, to a client."""
    if context.invoked_subcommand is not None:
        return
    if stdio and http:
        raise typer.BadParameter("give --http or --stdio, not both")
    flags = {
        "desk": desk,
        "hold": hold,
        "wait": wait,
        "browser": browser,
        "notify": notify,
        "store": store,
        "sessions": sessions,
    }
    from handraise.gateway.choosing import choices, options_of
    from handraise.issuers.reach import parse_networks

    with telling():
        chosen = choices(flags | {"http": "" if stdio else http}, os.environ)
        upstreams = _upstreams(context.obj or (), url, config, name, client_id)
        networks = parse_networks(unsafe_network or [])
        if networks:
            typer.echo(
                f"handraise: authorization servers may be in {', '.join(map(str, networks))}", err=True
            )
        sharing = _sharing(people, issuer, desk_client, public_url, networks)
        options = replace(options_of(chosen), unsafe_networks=networks)
        status = _serve(upstreams, options, chosen["http"].value, sharing)
    raise typer.Exit(status)


def _upstreams(
    command: tuple[str, ...], url: str | None, config: Path | None, name: str | None, client_id: str | None
) -> list[Upstream]:
    from handraise.gateway.upstreams import OwnClient, Upstream, short_name

    if (url is not None) + (config is not None) + bool(command) != 1:
        raise typer.BadParameter("name a server: its command behind `--`, or --url, or --config; one of them")
    if client_id is not None and url is None:
        raise typer.BadParameter("this goes with --url; in a file it is `oauth`", param_hint="--client-id")
    if config is not None:
        from handraise.gateway.config import load_upstreams

        return load_upstreams(config)
    if url is not None:
        upstream = Upstream("", url=url)
        known = OwnClient(client_id, os.environ.get("HANDRAISE_CLIENT_SECRET")) if client_id else None
        return [Upstream(name or upstream.host or url, url=url, oauth=known)]
    return [Upstream(name or short_name(command), command)]


def _sharing(
    people: Path | None,
    issuer: str | None,
    desk_client: str | None,
    public_url: str | None,
    unsafe_networks: tuple[Network, ...],
) -> Sharing | None:
    if people is None and issuer is None:
        return None
    if public_url is None:
        raise typer.BadParameter(
            "several people need to know where the gateway is", param_hint="--public-url"
        )
    from handraise.gateway.shared.people_file import PeopleFile
    from handraise.gateway.shared.serving import Sharing

    known = None if people is None else PeopleFile(people)
    return Sharing(public_url, known, issuer, desk_client, unsafe_networks)


def _serve(upstreams: list[Upstream], options: Options, http: str, sharing: Sharing | None) -> int:
    import asyncio

    from handraise.gateway import serve

    opening = _opening(upstreams)
    if not http:
        if sharing is not None:
            raise typer.BadParameter("several people come over HTTP", param_hint="--http")
        return asyncio.run(serve.serve_stdio(opening, options))
    from handraise.gateway.announcing import announcement

    host, _, port = http.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    names = [upstream.name for upstream in upstreams]

    def ready(address: str) -> None:
        public_url = None if sharing is None else sharing.public_url
        typer.echo("\n".join(announcement(address, names, options, public_url)), err=True)

    if sharing is not None:
        from handraise.gateway.shared.serving import serve_shared

        return asyncio.run(serve_shared(opening, options, host, int(port), sharing, ready))
    return asyncio.run(serve.serve_http(opening, options, host, int(port), ready))


def _opening(upstreams: list[Upstream]) -> OpenLink:
    from handraise.gateway.connect import open_link, open_switchboard

    if len(upstreams) == 1:
        return lambda enter: open_link(upstreams[0], enter)
    return lambda enter: open_switchboard(upstreams, enter)
