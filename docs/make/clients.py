"""The page about clients, made from the runs of real clients and from what others document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from docs.make.markdown import NOTICE, table

from handraise.gateway.clients.table import CLIENTS, RUNS

_SCENARIOS: Final = (
    "confirmation",
    "form",
    "link",
    "two questions",
    "decline",
    "cancel",
    "nobody answers",
    "park and resume",
    "client's timeout",
)
_SHORT: Final = {
    "answered in the client": "client",
    "answered at the desk": "desk",
    "told why not": "told",
    "FAILED": "**failed**",
}
_WAYS: Final = {
    "directly, own dialog": "the client starts the server; somebody sits at the client's terminal",
    "gateway, own dialog": "the client starts the gateway, and that starts the server; somebody sits at its terminal",
    "directly": "the client starts the server; nobody sees the client",
    "gateway": "the client starts the gateway; nobody sees the client",
    "gateway over HTTP": "the client connects to a gateway that runs already; nobody sees the client",
    "gateway, short limit": "the client gives up before the person answers, and the model makes the same call again",
}
_HEAD: Final = """
Find your client, and see whether it can ask you. If it cannot, the [gateway](gateway.md) asks you at a desk. The
gateway does not use this page: it reads from each connection what the client declares. `handraise gateway doctor` shows
the clients on your machine.

## Clients that were run

We ran each client against a server that asks in every way, with a stand-in for its model. `make clients` runs them
again. Forms came with revision 2025-06-18, links with 2025-11-25.

"""
_CELLS: Final = """
## How each question ended

| word | meaning |
|---|---|
| client | the person answered in the client's own dialog, and the model got the result |
| desk | the person answered at the desk, and the model got the result |
| told | there was no answer, or no answer that could be used; the model reads that |
| **failed** | none of these |
| – | this case does not exist here, or the client cannot do it |

Each client was connected in several ways. A client with a dialog was not run directly without a person, because it then
answers by itself, as its line above says.

"""
_REST: Final = """
## Clients that were not run

These lines come from the documentation of each client.

"""
_FOOT: Final = """
`make test` runs two more clients with the gateway: the TypeScript SDK's client, and Inspector's `mcpdo`.
"""


def clients_page() -> str:
    """The text of docs/clients.md."""
    seen = table(["client", "`--client`", "version", "run on", "revision", "declares", "to know"], _seen())
    ways = table(["way", "meaning"], _WAYS.items())
    cells = table(["way", "clients", *_SCENARIOS], sorted(_cells(), key=_place))
    others = table(["client", "`--client`", "declares", "as of", "source", "to know"], _not_run())
    return f"# Clients\n\n{NOTICE}{_HEAD}{seen}{_CELLS}{ways}\n{cells}{_REST}{others}{_FOOT}"


def _seen() -> Iterator[list[str]]:
    for id, run in RUNS.items():
        name = f"`{id}`" if id in CLIENTS else "–"
        yield [run["title"], name, run["version"], run["date"], run["revision"], run["asks"], run["note"]]


def _cells() -> Iterator[list[str]]:
    """The outcomes, with one row for all clients and ways that have the same."""
    alike: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for run in RUNS.values():
        for way, outcomes in run["runs"].items():
            cells = tuple(_SHORT.get(outcomes.get(name, ""), "–") for name in _SCENARIOS)
            alike.setdefault(cells, {}).setdefault(way, []).append(run["title"])
    for cells, ways in alike.items():
        clients: dict[str, list[str]] = {}
        for way, titles in ways.items():
            clients.setdefault(", ".join(titles), []).append(way)
        for names, same in clients.items():
            yield ["; ".join(same), names, *cells]


def _place(row: Sequence[str]) -> int:
    return list(_WAYS).index(row[0].partition(";")[0])


def _not_run() -> Iterator[list[str]]:
    for id, client in CLIENTS.items():
        if id not in RUNS:
            source = f"[docs]({client.source})"
            yield [client.title, f"`{id}`", client.asks, client.as_of, source, client.note]
