"""A server that asks in every way, and writes down each effect.

python -m tests.clients.asker EFFECTS stdio
python -m tests.clients.asker EFFECTS http PORT

The topic in a question says what the person is to do with it: see tests/clients/person.py.
"""

from __future__ import annotations

import sys
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, EmailStr, Field

from handraise import Accepted, Answer, Fallback, Handraise, ask


class Size(StrEnum):
    """A single choice."""

    SMALL = "small"
    LARGE = "large"


class Order(BaseModel):
    """A form with every kind of field."""

    name: str = Field(title="Name", max_length=40)
    email: EmailStr = Field(title="E-mail")
    day: date = Field(title="Day")
    copies: int = Field(title="Copies", ge=1, le=9)
    price: float = Field(title="Price", ge=0)
    gift: bool = Field(title="Gift")
    size: Size = Field(title="Size")
    extras: list[Literal["ribbon", "card", "box"]] = Field(title="Extras", max_length=3)


def make_asker(effects: Path) -> MCPServer:
    """A fresh server. Each effect is one line in the file."""
    server = MCPServer("asker", version="1")
    Handraise(max_reasks=1).install(server)

    def tell(what: str, answer: Answer[object] | Fallback[None]) -> str:
        if not isinstance(answer, Accepted):
            return f"Nothing happened with {what}: {answer.action}."
        with effects.open("a", encoding="utf-8") as file:
            file.write(f"{what}\n")
        return f"Happened with {what}."

    @server.tool()
    async def ask_confirm(topic: str) -> str:
        """Ask for a confirmation."""
        return tell(f"confirm {topic}", await ask.confirm(f"Delete the folder “{topic}”?"))

    @server.tool()
    async def ask_form(topic: str) -> str:
        """Ask with a form that has every kind of field."""
        answer = await ask(f"Order “{topic}”", Order)
        told = tell(f"form {topic}", answer)
        return f"{told} {answer.data.model_dump_json()}" if isinstance(answer, Accepted) else told

    @server.tool()
    async def ask_link(topic: str) -> str:
        """Ask to open a link."""
        answer = await ask.open(f"Connect “{topic}”", "https://notes.example.com/connect", wait=False)
        return tell(f"link {topic}", answer)

    @server.tool()
    async def ask_two(topic: str) -> str:
        """Ask two questions at once."""
        got = await ask.all(
            colour=ask.text(f"Which colour for “{topic}”?"), size=ask.text(f"Which size for “{topic}”?")
        )
        if all(isinstance(answer, Accepted) for answer in got.values()):
            return tell(f"two {topic}", got["colour"])
        return f"Nothing happened with two {topic}."

    @server.tool()
    async def ask_briefly(topic: str, seconds: Annotated[float, Field(gt=0)] = 2) -> str:
        """Ask for a confirmation for a short while only."""
        answer = await ask.confirm(f"Delete the folder “{topic}” now?", timeout=seconds)
        return tell(f"briefly {topic}", answer)

    @server.tool()
    async def ask_number(topic: str) -> str:
        """Ask for a number."""
        return tell(f"number {topic}", await ask.number(f"How many copies of “{topic}”?"))

    @server.tool()
    async def ask_why(topic: str) -> str:
        """Ask for a confirmation, with the reason and the consequence."""
        answer = await ask.confirm(
            f"Delete the folder “{topic}”?", because="The disk is full.", if_declined="The build stops."
        )
        return tell(f"why {topic}", answer)

    @server.tool()
    async def ask_or_keep(topic: str) -> str:
        """Ask for a confirmation; where nobody can be asked, keep the folder."""
        answer = await ask.confirm(f"Delete the folder “{topic}”?", fallback=None)
        return tell(f"or_keep {topic}", answer)

    return server


if __name__ == "__main__":
    asker = make_asker(Path(sys.argv[1]))
    if sys.argv[2] == "stdio":
        asker.run("stdio")
    else:
        asker.run("streamable-http", port=int(sys.argv[3]))
