"""`handraise gateway`: stand between a client and its servers. `gateway people`: who may use a shared one."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from handraise.cli.common import Env, Name, Url, parse_environment
from handraise.display import for_line, inert
from handraise.gateway.upstreams import OwnClient, Upstream, load_upstreams, short_name
from handraise.policy.places import DATABASE_URLS

if TYPE_CHECKING:
    from handraise.gateway.options import Options
    from handraise.gateway.serve_shared import Sharing

app = typer.Typer(
    help="Use any server with any client, and answer its questions.\n\n"
    "Put it in front of the server's command in your client's configuration; `handraise gateway install` does that for "
    "you. If your client cannot ask you, you answer at the desk that `handraise inbox` opens. Your policy judges every "
    "question, and the ledger records it.",
    subcommand_metavar="[-- COMMAND...] | doctor | install | people",
    rich_markup_mode=None,
)

EXAMPLES = """Examples:

\b
  handraise gateway -- npx -y some-server
  handraise gateway --url https://mcp.example.com/mcp
  handraise gateway --config servers.json
  handraise gateway --http 127.0.0.1:8765 -- python server.py

If you leave an option out, its value comes from the environment (HANDRAISE_GATEWAY_HOLD for --hold, and so on;
HANDRAISE_STORE for --store), then from `[gateway]` and `[store]` in handraise.toml, then from the defaults. `handraise
gateway doctor` shows each value and its source.

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
    env: Env = None,
    client_id: Annotated[
        str | None,
        typer.Option(
            "--client-id",
            help="With --url: the gateway's client id at the server's authorization server, if it cannot register "
            "itself there. Put a secret into HANDRAISE_CLIENT_SECRET.",
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="HOST:PORT", help="Serve clients over streamable HTTP, at /mcp."),
    ] = None,
    stdio: Annotated[
        bool,
        typer.Option(
            "--stdio", help="Serve the client that starts this command, even if handraise.toml sets `http`."
        ),
    ] = False,
    desk: Annotated[
        str | None,
        typer.Option(
            "--desk",
            metavar="auto|always|none",
            help="When to ask at Handraise's desk: if the client does not ask (auto, the default), always, or never "
            "(none).",
        ),
    ] = None,
    hold: Annotated[
        float | None,
        typer.Option("--hold", help="Hold a call for so many seconds before it is parked; 45 by default."),
    ] = None,
    wait: Annotated[
        float | None,
        typer.Option("--wait", help="Let a question wait for so many seconds; a day by default."),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option(
            "--grace",
            help="Let you answer at the desk for so many seconds after the client cancelled the call; 600 by default.",
        ),
    ] = None,
    too_fast: Annotated[
        float | None,
        typer.Option(
            "--too-fast",
            help="If the client declines within so many seconds, nobody can have read the question. Then the desk asks "
            "you; 0.5 by default.",
        ),
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
            help="Show a desktop notice that names the server when a question comes; by default it does.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help=f"Where parked calls are kept: {DATABASE_URLS} or a file; one in your data directory by default.",
        ),
    ] = None,
    sessions: Annotated[
        int | None,
        typer.Option(
            "--sessions", help="With --http: how many sessions one person may have at once; 8 by default."
        ),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option("--people", help="With --http: serve several people; this file has their tokens."),
    ] = None,
    issuer: Annotated[
        str | None,
        typer.Option("--issuer", help="With --http: serve several people; this issuer signs their tokens."),
    ] = None,
    desk_client: Annotated[
        str | None,
        typer.Option(
            "--desk-client",
            help="With --issuer: the gateway's client id there, to sign people in to the desk.",
        ),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(
            "--public-url", help="With --people or --issuer: the address that people see, without a path."
        ),
    ] = None,
    unsafe_network: Annotated[
        list[str] | None,
        typer.Option(
            "--unsafe-network",
            metavar="CIDR",
            help="Allow authorization servers with addresses in this private network; may be repeated. Otherwise their "
            "addresses must be public.",
        ),
    ] = None,
) -> None:
    """Serve one server, or several, to a client."""
    if context.invoked_subcommand is not None:
        return
    if stdio and http:
        raise typer.BadParameter("give --http or --stdio, not both")
    from handraise.gateway.options import choices, options_of

    upstreams = _upstreams(context.obj or (), url, config, name, client_id, parse_environment(env))
    sharing = _sharing(people, issuer, desk_client, public_url, unsafe_network or [])
    chosen = choices({**_flags(context.params), "http": "" if stdio else http}, os.environ)
    options = options_of(chosen)
    status = _serve(upstreams, options, chosen["http"].value, sharing, unsafe_network or [])
    raise typer.Exit(status)


def _flags(params: Mapping[str, Any]) -> dict[str, object]:
    """The options of a gateway that a command line has."""
    from handraise.gateway.options import OPTIONS

    return {name: params.get(name) for name in (*OPTIONS, "store")}


def options_in(words: Sequence[str]) -> Options:
    """The options of a gateway that a client starts with these arguments."""
    from handraise.gateway.options import choices, options_of

    try:
        command = typer.main.get_command(app)
        known = command.make_context("gateway", list(words), resilient_parsing=True).params
    except Exception:  # noqa: BLE001 - a client's file can contain anything; unknown options are ignored
        known = {}
    return options_of(choices(_flags(known), os.environ))


def _upstreams(
    command: tuple[str, ...],
    url: str | None,
    config: Path | None,
    name: str | None,
    client_id: str | None,
    environment: Mapping[str, str],
) -> list[Upstream]:
    if (url is not None) + (config is not None) + bool(command) != 1:
        raise typer.BadParameter("name a server: its command after `--`, or --url, or --config; one of them")
    if client_id is not None and url is None:
        raise typer.BadParameter("this goes with --url; in a file it is `oauth`", param_hint="--client-id")
    if environment and not command:
        raise typer.BadParameter("this goes with a command; in a file it is `env`", param_hint="--env")
    if config is not None:
        return load_upstreams(config)
    if url is not None:
        upstream = Upstream("", url=url)
        known = OwnClient(client_id, os.environ.get("HANDRAISE_CLIENT_SECRET")) if client_id else None
        return [Upstream(name or upstream.host or url, url=url, oauth=known)]
    return [Upstream(name or short_name(command), command, environment=environment)]


def _sharing(
    people: Path | None,
    issuer: str | None,
    desk_client: str | None,
    public_url: str | None,
    unsafe_networks: list[str],
) -> Sharing | None:
    if people is None and issuer is None:
        return None
    if public_url is None:
        raise typer.BadParameter(
            "give the address at which people reach the gateway, like https://gate.example.com",
            param_hint="--public-url",
        )
    from handraise.gateway.people import PeopleFile
    from handraise.gateway.serve_shared import Sharing
    from handraise.issuers import parse_networks

    known = None if people is None else PeopleFile(people)
    return Sharing(public_url, known, issuer, desk_client, parse_networks(unsafe_networks))


def _serve(
    upstreams: list[Upstream],
    options: Options,
    http: str,
    sharing: Sharing | None,
    unsafe_networks: list[str],
) -> int:
    """Serve until the end; returns the exit status. The server starts before the gateway imports the rest."""
    from handraise.gateway.servers import ServerSet

    _log_inertly()
    servers = ServerSet(*upstreams)
    if not http:
        if sharing is not None:
            raise typer.BadParameter("several people come over HTTP", param_hint="--http")
        servers.start()
    try:
        import asyncio

        if unsafe_networks:
            from handraise.issuers import parse_networks

            networks = parse_networks(unsafe_networks)
            options = replace(options, unsafe_networks=networks)
            typer.echo(
                f"handraise: authorization servers may be in {', '.join(map(str, networks))}", err=True
            )
        if not http:
            from handraise.gateway.serve import serve_stdio

            return asyncio.run(serve_stdio(servers, options))
        host, _, port = http.rpartition(":")
        host = host.strip("[]") or "127.0.0.1"
        names = [upstream.name for upstream in upstreams]

        def ready(address: str) -> None:
            public_url = None if sharing is None else sharing.public_url
            typer.echo("\n".join(announcement(address, names, options, public_url)), err=True)

        if sharing is not None:
            from handraise.gateway.serve_shared import serve_shared

            return asyncio.run(serve_shared(servers, options, host, int(port), sharing, ready))
        from handraise.gateway.http.serving import serve_http

        return asyncio.run(serve_http(servers, options, host, int(port), ready))
    finally:
        servers.kill()


def _log_inertly() -> None:
    """Write warnings and errors to standard error, with everything inert that a terminal would obey.

    The attack: names from servers and clients in the log clear the screen, or look like lines of ours.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_InertFormatter())
    logging.getLogger().addHandler(handler)


class _InertFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        parts = [inert(record.getMessage())]
        if record.exc_info:
            parts.append(inert(self.formatException(record.exc_info), limit=_LONGEST_TRACEBACK))
        return "\n".join(parts).replace("\n", "\n  ")


_LONGEST_TRACEBACK: Final = 20_000
OWN_DESK = "the desk: handraise inbox"


def announcement(
    address: str, servers: Iterable[str], options: Options, public_url: str | None = None
) -> list[str]:
    """The first lines of a gateway over HTTP. They show no commands of servers, which often contain secrets.

    `public_url` is where people find a shared gateway; `address` is where it listens for the proxy in front of it.
    """
    clients = f"http://{address}/mcp" if public_url is None else f"{public_url}/mcp, served at {address}"
    desk = OWN_DESK if public_url is None else f"the desk: {public_url}/"
    questions = {
        "auto": f"in the client; where it does not ask, at {desk}",
        "always": f"at {desk}",
        "none": "in the client, and nowhere else",
    }
    return [
        "The gateway is running; Ctrl+C ends it.",
        f"  clients    {clients}",
        f"  servers    {', '.join(for_line(name, limit=100) for name in servers)}",
        f"  questions  {questions[options.desk]}",
    ]


_PEOPLE_EXAMPLES = """Examples:

\b
  handraise gateway people add alice --file people.json
  handraise gateway people link alice --file people.json \\
      --public-url https://gate.example.com
  handraise gateway people link alice --passkey --file people.json \\
      --public-url https://gate.example.com
  handraise gateway people remove alice --file people.json
  handraise gateway --http 127.0.0.1:8765 --people people.json \\
      --public-url https://gate.example.com --config servers.json

A person has a token in their client's configuration, and signs in to their desk with a link of their own. A running
gateway follows changes at once.

Exit status: 0 when it is done; 2 for wrong use or a file that cannot be used.
"""

people_app = typer.Typer(
    help="Let people use a shared gateway, with a file that lists them.",
    epilog=_PEOPLE_EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode=None,
)

PersonName = Annotated[
    str, typer.Argument(metavar="NAME", help="The person's name in the file.", show_default=False)
]
File = Annotated[Path, typer.Option("--file", help="The file of people.")]


@people_app.command(epilog=_PEOPLE_EXAMPLES)
def add(name: PersonName, file: File) -> None:
    """Give a person a token for their client. It is shown once; the file keeps only its hash."""
    from handraise.gateway.people import PeopleFile

    typer.echo(PeopleFile(file).add(name))


@people_app.command(epilog=_PEOPLE_EXAMPLES)
def remove(name: PersonName, file: File) -> None:
    """Remove a person, who loses access at once."""
    from handraise.gateway.people import PeopleFile

    PeopleFile(file).remove(name)


@people_app.command(epilog=_PEOPLE_EXAMPLES)
def link(
    name: PersonName,
    file: File,
    public_url: Annotated[str, typer.Option("--public-url", help="The address of the running gateway.")],
    passkey: Annotated[
        bool,
        typer.Option(
            "--passkey", help="Let the person add a passkey with the link, for example when they lost theirs."
        ),
    ] = False,
) -> None:
    """Make a link that signs a person in to their desk.

    It works in one browser, once, within ten minutes. Give it only to that person, and not in a place that a model
    reads.
    """
    from handraise.gateway.people import PeopleFile
    from handraise.gateway.shared_desk import make_invitation

    people = PeopleFile(file)
    people.require(name)
    word = make_invitation(people, name, time.time(), passkey=passkey)
    typer.echo(f"{public_url.rstrip('/')}/enter/{word}")


app.add_typer(people_app, name="people")
