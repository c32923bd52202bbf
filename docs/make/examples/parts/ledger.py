import asyncio
from pathlib import Path
from tempfile import mkdtemp

from mcp.server.mcpserver import MCPServer

from handraise import Accepted, Handraise, ask
from handraise.ledger import (
    KINDS,
    AnswerUse,
    ClientRecord,
    Content,
    EventContext,
    EventKind,
    FieldRecord,
    Ledger,
    LedgerEvent,
    LinkRecord,
    Principal,
    RequestRecord,
    ServerRecord,
    dump_event,
    parse_event,
)
from handraise.testing import ScriptedPerson, connect

ledger = Ledger.at(Path(mkdtemp()) / "ledger.db")
server = Handraise(ledger=ledger).install(MCPServer("notes"))


@server.tool()
async def delete(title: str) -> str:
    """Delete a note."""
    (await ask.confirm(f"Delete {title}?")).or_stop()
    return "Deleted."


async def main() -> None:
    async with connect(server, "2026-07-28", ScriptedPerson(Accepted(True))) as client:
        await client.call_tool("delete", {"title": "plans"})
    await ledger.finish()
    events: list[LedgerEvent] = [event async for _, event in ledger.events()]
    for event in events:
        print(event.kind, event.about.request.target, event.action)
    await ledger.aclose()


asyncio.run(main())

# An event by hand, as another program may read it.
kind: EventKind = KINDS[0]
about = EventContext(
    ServerRecord("notes", "https://notes.example"),
    principal=Principal("https://login.example", "ada", "token"),
    request=RequestRecord("tools/call", "delete"),
    client=ClientRecord("desk", "1.2"),
)
made = LedgerEvent(
    "e1", "q1", kind, 0, about, message=Content("c1", "a" * 64), fields=(FieldRecord("which", "choice"),)
)
print(parse_event(dump_event(made)) == made)
print(
    LinkRecord("ok", "example.com", "login.example.com").verdict,
    AnswerUse(RequestRecord("tools/call", "delete"), "result").ended,
)
