"""A server that asks in every way there is, for tests over any transport.

    python -m tests.server.kitchen stdio
    python -m tests.server.kitchen http PORT

Every tool takes `run`, under which its effects are kept; the tool `effects` tells them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, Field

from handraise import Accepted, Cancelled, Declined, Fallback, Handraise, NoAnswer, NotSupported, ask

EFFECTS: dict[str, list[str]] = defaultdict(list)


class Order(BaseModel):
    item: str = Field(min_length=2)
    count: int = Field(ge=1, le=10)
    gift: bool = False


@dataclass
class Trip:
    place: str
    nights: int


class Nested(BaseModel):
    order: Order


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Report(TypedDict):
    answer: str


class Confirmation(BaseModel):
    sure: bool


async def be_sure(run: str) -> Elicit[Confirmation]:
    EFFECTS[run].append("resolver")
    return Elicit("Sure, in the SDK's own way?", Confirmation)


def make_kitchen(**options: Any) -> MCPServer:
    """A fresh kitchen with Handraise installed."""
    server = MCPServer("kitchen", version="1")
    Handraise(**options).install(server)
    _install_questions(server)
    _install_oddities(server)
    _install_client_requests(server)
    return server


def _install_questions(server: MCPServer) -> None:
    @server.tool()
    async def journey(run: str) -> str:
        """Three questions in a row, effects before and between, live data in each message."""
        EFFECTS[run].append("before")
        order = await ask(f"What shall it be? ({time.time_ns()})", Order)
        if not isinstance(order, Accepted):
            return f"order: {order.action}"
        EFFECTS[run].append(f"reserved {order.data.count} {order.data.item}")
        night = await ask.number(f"How many nights? ({time.time_ns()})", minimum=0)
        EFFECTS[run].append(f"nights {night.or_stop()}")
        match await ask.confirm(f"Pay now? ({time.time_ns()})", because="the card is charged at once"):
            case Accepted():
                EFFECTS[run].append("paid")
                return "paid"
            case Declined(by=how):
                return f"declined by {how}"
            case Cancelled():
                return "cancelled"

    @server.tool()
    async def chain(run: str, length: int) -> str:
        """Ask as often as told."""
        for number in range(length):
            answer = await ask.text(f"Question {number}")
            EFFECTS[run].append(answer.or_stop())
        return ", ".join(EFFECTS[run])

    @server.tool()
    async def three_at_once(run: str) -> str:
        """Three questions in one round."""
        EFFECTS[run].append("before")
        answers = await ask.all(
            who=ask.text("Who?"),
            size=ask.choose("Which size?", Size),
            extras=ask("Anything else?", Trip),
        )
        EFFECTS[run].append("after")
        return repr([answers[name].or_stop() for name in ("who", "size", "extras")])

    @server.tool()
    async def gathered(run: str) -> str:
        """Three tasks of the author's, each asking."""

        async def one(number: int) -> str:
            return (await ask.text(f"Number {number}", key=f"n{number}")).or_stop()

        EFFECTS[run].append("before")
        return " ".join(await asyncio.gather(*(one(number) for number in range(3))))

    @server.tool()
    async def rescued(run: str) -> str:
        """A question after an exception that the body caught."""
        try:
            await ask.open("Look here", "https://example.com/start", timeout=5)
        except NotSupported:
            EFFECTS[run].append("no link")
        return str((await ask.text("Then say it here")).or_stop())

    @server.tool()
    async def what_came(
        run: str, question: Literal["order", "trip", "size", "sizes", "seat", "colour", "yes", "day"]
    ) -> str:
        """The answer to one kind of question, as Python sees it."""
        asked: Any = {
            "order": lambda: ask("Order?", Order),
            "trip": lambda: ask("Trip?", Trip),
            "size": lambda: ask.choose("Size?", Size),
            "sizes": lambda: ask.choose_many("Sizes?", {1: "One", 2: "Two", 3: "Three"}),
            "seat": lambda: ask.choose("Seat?", [10, 20]),
            "colour": lambda: ask.choose("Colour?", ["red", "green"]),
            "yes": lambda: ask.confirm("Yes?"),
            "day": lambda: ask.date("Which day?"),
        }[question]
        try:
            answer = await asked()
        except NoAnswer as nothing:
            return nothing.code
        return repr(answer)

    @server.tool()
    async def mistaken(run: str, mistake: str) -> str:
        """A question that the author got wrong."""
        question: Callable[[], Any] = {
            "no options": lambda: ask.choose("Which?", []),
            "nested": lambda: ask("Which?", Nested),
            "no UTF-8": lambda: ask.confirm(f"Delete {os.fsdecode(bytes([99, 233]))}?"),
            "no UTF-8 to choose": lambda: ask.choose("Which?", [os.fsdecode(bytes([99, 233]))]),
            "no key": lambda: ask.confirm("Sure?", key=5),  # type: ignore[call-overload]
            "no time": lambda: ask.confirm("Sure?", timeout=float("nan")),
            "no await": lambda: bool(ask.confirm("Sure?")),
            "no await of one on its way": lambda: bool(ask.confirm("Sure?").prepare()),
            "one key twice": lambda: ask.all(a=ask.text("A?", key="k"), b=ask.text("B?", key="k")),
            "sync": lambda: ask.sync(ask.confirm("Sure?")),
        }[mistake]
        await question()
        EFFECTS[run].append("went on")
        return "went on"

    @server.tool()
    async def uncaught(run: str, timeout: float = 5) -> str:
        """A question whose missing answer nobody catches."""
        try:
            EFFECTS[run].append(repr((await ask.confirm("Really?", timeout=timeout)).action))
            return "answered"
        finally:
            EFFECTS[run].append("finally")

    @server.tool()
    async def with_fallback(run: str) -> str:
        """A value for clients that cannot be asked."""
        match await ask.text("Which timezone?", fallback="UTC"):
            case Fallback(value):
                return f"fell back to {value}"
            case answer:
                return f"asked: {answer.or_stop()}"

    @server.tool()
    async def picky(run: str) -> str:
        """The author's own validation."""

        def even(number: float) -> str | None:
            return None if number % 2 == 0 else "The number has to be even."

        return str((await ask.number("An even number?", whole=True, check=even)).or_stop())

    @server.tool()
    async def endless(run: str) -> str:
        """Asks in a tight loop."""
        while True:
            EFFECTS[run].append((await ask.text("Again?")).or_stop())


def _install_oddities(server: MCPServer) -> None:
    @server.tool()
    async def structured(run: str) -> Report:
        """Structured output after a question, or a polite end."""
        return {"answer": (await ask.text("Say something")).or_stop("Then not.")}

    @server.tool()
    async def with_progress(run: str, ctx: Context) -> str:
        """Progress before and after a question goes to the request that is live."""
        first = ctx.request_id
        await ctx.report_progress(1, 3, "before")
        await ask.text("Go on?")
        await ctx.report_progress(2, 3, "between")
        await ask.text("And on?")
        await ctx.report_progress(3, 3, "after")
        return f"{first} {ctx.request_id}"

    @server.tool()
    async def resolved(run: str, sure: Annotated[Confirmation, Resolve(be_sure)]) -> str:
        """The SDK's own resolver and `ask` in one tool."""
        EFFECTS[run].append(f"sure {sure.sure}")
        return (await ask.text("And in ours?")).or_stop()

    @server.tool()
    async def quiet(run: str) -> str:
        """Never asks."""
        EFFECTS[run].append("ran")
        return "quiet"

    @server.tool()
    async def crashes(run: str) -> str:
        """Raises after a question."""
        await ask.text("Shall I crash?")
        raise RuntimeError("secret detail")

    @server.tool()
    async def effects(run: str) -> list[str]:
        """What happened under a run."""
        return EFFECTS[run]

    class Desk:
        def __init__(self) -> None:
            self.counts: Counter[str] = Counter()

        async def counted(self, run: str) -> str:
            """A method that asks."""
            self.counts[run] += 1
            return f"{(await ask.text('Name?')).or_stop()} {self.counts[run]}"

    server.add_tool(Desk().counted)


def _install_client_requests(server: MCPServer) -> None:
    @server.tool()
    async def where(run: str) -> str:
        """The client's roots, and a question in the same body."""
        roots = await ask.roots()
        answer = await ask.choose("Which one?", {root.uri: root.name or root.uri for root in roots})
        return answer.or_stop()

    @server.tool()
    async def drafted(run: str) -> str:
        """The client's model drafts, the person approves."""
        draft = await ask.model("Draft a greeting", max_tokens=50)
        EFFECTS[run].append("drafted")
        (await ask.confirm(f"Send this? {draft.text}")).or_stop()
        return draft.text


def main(transport: str, port: str = "0") -> None:
    server = make_kitchen()
    if transport == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
