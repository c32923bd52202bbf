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
    "gateway, own dialog": "the client starts the gateway, which starts the server; somebody sits there, too",
    "directly": "the client starts the server; nobody sees the client",
    "gateway": "the client starts the gateway; nobody sees the client",
    "gateway over HTTP": "the client connects to a gateway that runs already; nobody sees the client",
    "gateway, short limit": "the client gives up before the person answers, and the model makes the same call again",
}
_HEAD: Final = """
Find your client to see how it asks you. Where it cannot, the gateway does. The gateway goes by the client's own words
when it connects, never by this page. `handraise gateway doctor` shows the clients on your machine.

## Clients that were run

Each ran against a server that asks in every way, with a stand-in for its model. `make clients` does it again. Forms are
part of revision 2025-06-18 and later, links of 2025-11-25 and later.

"""
_CELLS: Final = """
## The end of each question

| word | meaning |
|---|---|
| client | the person answered in the client's own dialog, and the model got the result |
| desk | the person answered at the desk, and the model got the result |
| told | no answer came, or none that could be used, and the model is told so |
| **failed** | none of these |
| – | does not arise on this way, or the client cannot do it |

A client with a dialog does not run directly without a person: it decides alone there, as its line above says.

"""
_REST: Final = """
## Clients that were not run

These lines repeat the documentation of each client.

"""
_FOOT: Final = """
The TypeScript SDK's client and Inspector's `mcpdo` run in `make test`, in front of the gateway.
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
