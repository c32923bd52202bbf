import asyncio
from pathlib import Path
from tempfile import mkdtemp

from mcp.server.mcpserver import MCPServer

from handraise import Accepted, Handraise, ask
from handraise.ledger import (
    KINDS,
    About,
    Client,
    Content,
    Event,
    Field,
    Kind,
    Ledger,
    Link,
    Principal,
    Request,
    Server,
    Use,
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
    events: list[Event] = [event async for _, event in ledger.events()]
    for event in events:
        print(event.kind, event.about.request.target, event.action)
    await ledger.aclose()


asyncio.run(main())

# An event by hand, as another program may read it.
kind: Kind = KINDS[0]
about = About(
    Server("notes", "https://notes.example"),
    principal=Principal("https://login.example", "ada", "token"),
    request=Request("tools/call", "delete"),
    client=Client("desk", "1.2"),
)
made = Event("e1", "q1", kind, 0, about, message=Content("c1", "a" * 64), fields=(Field("which", "choice"),))
print(parse_event(dump_event(made)) == made)
print(
    Link("example.com", "login.example.com", "ok").verdict,
    Use(Request("tools/call", "delete"), "result").ended,
)
