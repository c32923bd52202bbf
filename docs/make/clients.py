"""The page about clients, made from the runs of real clients and from what others document."""

from __future__ import annotations

from collections.abc import Iterator
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
_SERVED: Final = {
    "nothing": "held, parked, answered at the desk",
    "forms": "its own dialog; links at the desk",
    "forms and links": "its own dialog, with your rules and the ledger",
}
_HEAD: Final = """
Find out how your client asks you, and how Handraise serves it. The gateway goes by what a client declares when it
connects, never by this page. `handraise gateway doctor` says the same for the clients on your machine.

## Clients that were run

Each was run against a server that asks in every way, with a stand-in for its model: directly, behind the gateway, and
behind the gateway over HTTP. `make clients` does it again.

"""
_CELLS: Final = """
## What came of each question

| word | meaning |
|---|---|
| client | the person answered in the client's own dialog, and the model got the result |
| desk | the person answered at the desk, and the model got the result |
| told | the model and the person are told why not |
| **failed** | none of these |

A client with a dialog of its own was used at a terminal ("own dialog") and without one. "Short limit" means that the
client gave up before the person answered; the model made the same call again.

"""
_REST: Final = """
## Clients that were not run

What stands here is what their documentation says.

"""
_FOOT: Final = """
VS Code sends "Cancel" as a decline. `--desk always` has you asked at our desk, whatever a client shows.

Forms are part of revision 2025-06-18 and later, links of
[2025-11-25](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation) and later.

Servers of a single project are in files of their own, which `handraise gateway install --client claude-code --project`
rewrites, or the same for another client: `.mcp.json` (Claude Code), `.cursor/mcp.json`, `.vscode/mcp.json`,
`.gemini/settings.json` and `.qwen/settings.json`.

The TypeScript SDK's client and Inspector's `mcpdo` in front of the gateway, and the `everything` server behind it, are
run in `make test`, on 2025-11-25 and 2026-07-28.
"""


def clients_page() -> str:
    """The text of docs/clients.md."""
    seen = table(["client", "`--client`", "version", "run on", "revision", "declares", "to know"], _seen())
    cells = table(["client", *_SCENARIOS], _cells())
    others = table(
        ["client", "`--client`", "declares", "as of", "with the gateway in front", "source"], _not_run()
    )
    return f"# Clients\n\n{NOTICE}{_HEAD}{seen}{_CELLS}{cells}{_REST}{others}{_FOOT}"


def _seen() -> Iterator[list[str]]:
    for id, run in RUNS.items():
        name = f"`{id}`" if id in CLIENTS else "–"
        yield [run["title"], name, run["version"], run["date"], run["revision"], run["asks"], run["note"]]


def _cells() -> Iterator[list[str]]:
    for run in RUNS.values():
        for way, outcomes in run["runs"].items():
            yield [
                f"{run['title']}, {way}",
                *(_SHORT.get(outcomes.get(name, ""), "–") for name in _SCENARIOS),
            ]


def _not_run() -> Iterator[list[str]]:
    for id, client in CLIENTS.items():
        if id not in RUNS:
            source = f"[docs]({client.source})"
            yield [client.title, f"`{id}`", client.asks, client.as_of, _SERVED[client.asks], source]
