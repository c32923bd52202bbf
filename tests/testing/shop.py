"""A shop of tools: one that asks first, and ones that break that promise in each way."""

from __future__ import annotations

from typing import TypedDict

from mcp.server.mcpserver import MCPServer

from handraise import Accepted, Handraise, ask
from handraise.server.served import current_call


class Owner(TypedDict):
    name: str
    age: int


class Shop:
    """A server and what its tools deleted."""

    def __init__(self) -> None:
        self.deleted: list[str] = []
        self.server = MCPServer("shop")
        Handraise().install(self.server)

        @self.server.tool()
        async def what_you_can() -> str:
            can = current_call().can
            return " ".join(
                mode for mode, declared in (("form", can("form")), ("url", can("url"))) if declared
            )

        @self.server.tool()
        async def asks_first(title: str) -> str:
            match await ask.confirm(f"Delete {title}?"):
                case Accepted():
                    self.deleted.append(title)
                    return "deleted"
                case _:
                    return "kept"

        @self.server.tool()
        async def runs_first(title: str) -> str:
            self.deleted.append(title)
            return "deleted" if isinstance(await ask.confirm("Was that right?"), Accepted) else "too late"

        @self.server.tool()
        async def does_not_look(title: str) -> str:
            await ask.confirm(f"Delete {title}?")
            self.deleted.append(title)
            return "deleted"

        @self.server.tool()
        async def takes_a_no_for_a_yes(title: str) -> str:
            (await ask(f"Delete {title}?", bool)).or_stop()
            self.deleted.append(title)
            return "deleted"

        @self.server.tool()
        async def falls_back(title: str) -> str:
            if (await ask.confirm(f"Delete {title}?", fallback=True)).or_stop():
                self.deleted.append(title)
            return "done"

        @self.server.tool()
        async def never_asks(title: str) -> str:
            return title

        @self.server.tool()
        async def two_fields(name: str) -> str:
            return str((await ask("Who?", Owner)).or_stop())

        @self.server.tool()
        async def sends_a_link(title: str) -> str:
            return (await ask.open(f"Pay for {title}.", "https://shop.example/pay", wait=False)).action
