"""The transfer tool written with the SDK alone, three ways, and what becomes of each on every revision."""

# The traps are the subject here. handraise: ignore-file[HR401, HR402, HR403]

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple
from unittest.mock import patch

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp_types import ElicitRequestParams, ElicitResult, TextContent
from pydantic import BaseModel

REVISIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
AMOUNT = 100


class Account(BaseModel):
    account: str


class Receipt(BaseModel):
    confirm: bool


# In the body: `ctx.elicit`.

in_the_body = MCPServer("bank")
moved_in_the_body: list[int] = []


@in_the_body.tool(name="transfer")
async def transfer_in_the_body(amount: int, ctx: Context) -> str:
    """Move money out of an account that the person chooses."""
    chosen = await ctx.elicit(f"It is {datetime.now(UTC).time()}. Take {amount} from which account?", Account)
    if chosen.action != "accept":
        return "Nothing was moved."
    moved_in_the_body.append(amount)
    receipt = await ctx.elicit(f"{amount} left at {datetime.now(UTC).time()}. Print a receipt?", Receipt)
    return f"Moved {amount}, {receipt.action}"


# Before the body: resolvers. The effect has to stand between the questions, so it stands in the second one.

resolved = MCPServer("bank")
moved_resolved: list[int] = []


async def which_account(amount: int) -> Elicit[Account]:
    return Elicit(f"Take {amount} from which account?", Account)


async def move_and_ask(amount: int, chosen: Annotated[Account, Resolve(which_account)]) -> Elicit[Receipt]:
    moved_resolved.append(amount)
    return Elicit(f"{amount} left {chosen.account!r}. Print a receipt?", Receipt)


@resolved.tool(name="transfer")
async def transfer_resolved(amount: int, receipt: Annotated[Receipt, Resolve(move_and_ask)]) -> str:
    """Move money out of an account that the person chooses."""
    return f"Moved {amount}, receipt: {receipt.confirm}"


# The same with the clock in the messages.

resolved_live = MCPServer("bank")
moved_resolved_live: list[int] = []


async def which_account_now(amount: int) -> Elicit[Account]:
    return Elicit(f"It is {datetime.now(UTC).time()}. Take {amount} from which account?", Account)


async def move_and_ask_now(
    amount: int, chosen: Annotated[Account, Resolve(which_account_now)]
) -> Elicit[Receipt]:
    moved_resolved_live.append(amount)
    return Elicit(
        f"{amount} left {chosen.account!r} at {datetime.now(UTC).time()}. Print a receipt?", Receipt
    )


@resolved_live.tool(name="transfer")
async def transfer_resolved_live(amount: int, receipt: Annotated[Receipt, Resolve(move_and_ask_now)]) -> str:
    """Move money out of an account that the person chooses."""
    return f"Moved {amount}, receipt: {receipt.confirm}"


class Played(NamedTuple):
    """What came of one call on one revision."""

    effects: int
    questions: int
    failure: str | None

    def __str__(self) -> str:
        times = {0: "never", 1: "once", 2: "twice"}.get(self.effects, f"{self.effects} times")
        if self.failure is None:
            return times
        asked = f"the person was asked {self.questions} times" if self.questions else "nobody was asked"
        return f"{times}: the call fails, {asked}"


async def play(server: MCPServer, moved: list[int], revision: str) -> Played:
    """Call the tool as a client of this revision whose person accepts everything."""
    moved.clear()
    questions = 0

    async def person(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        nonlocal questions
        questions += 1
        fields: dict[str, dict[str, Any]] = params.requested_schema["properties"]  # type: ignore[union-attr]
        answers: dict[str, Any] = {
            name: True if field["type"] == "boolean" else "house" for name, field in fields.items()
        }
        return ElicitResult(action="accept", content=answers)

    mode = revision if revision == REVISIONS[-1] else "legacy"
    with _offering(revision):
        async with Client(server, mode=mode, elicitation_callback=person) as client:
            assert client.protocol_version == revision
            try:
                result = await client.call_tool("transfer", {"amount": AMOUNT})
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what the user sees
                return Played(len(moved), questions, str(error))
    said = next(block.text for block in result.content if isinstance(block, TextContent))
    return Played(len(moved), questions, said if result.is_error else None)


async def show(ours: MCPServer, moved: list[int]) -> None:
    """Play every version of the tool on every revision, and print how often the money moved."""
    logging.disable(logging.CRITICAL)
    rows = {
        "handraise, ask": (ours, moved),
        "mcp, ctx.elicit": (in_the_body, moved_in_the_body),
        "mcp, Resolve": (resolved, moved_resolved),
        "mcp, Resolve, with clock": (resolved_live, moved_resolved_live),
    }
    print("One call: a question, money moves, a second question. How often did it move?\n")
    print(_line("", *REVISIONS))
    for name, (server, effects) in rows.items():
        played = [await play(server, effects, revision) for revision in REVISIONS]
        print(_line(name, *map(str, played)), flush=True)


def _line(name: str, *cells: str) -> str:
    return f"{name:27}{''.join(f'{cell:13}' for cell in cells)}".rstrip()


@contextmanager
def _offering(revision: str) -> Iterator[None]:
    """The SDK's client always offers its newest legacy revision; let it offer this one."""
    with patch("mcp.client.session.LATEST_HANDSHAKE_VERSION", revision):
        yield


if __name__ == "__main__":  # what the other file shows, whichever of the two is run
    import transfer

    asyncio.run(show(transfer.server, transfer.moved))
