"""A server that asks in the ways that matter to a gateway, for any transport.

python -m tests.gateway.notes stdio
python -m tests.gateway.notes http PORT
"""

from __future__ import annotations

import sys
from collections import Counter

from mcp.server.mcpserver import Context, MCPServer

from handraise import Accepted, Handraise, ask

DONE: Counter[str] = Counter()
"""How often each effect happened."""


def make_notes() -> MCPServer:
    """A fresh server."""
    server = MCPServer("notes", version="7")
    Handraise().install(server)

    @server.tool()
    async def echo(text: str) -> str:
        """Say it again."""
        return text

    @server.tool()
    async def delete(title: str) -> str:
        """Ask once, by a form."""
        DONE[f"looked {title}"] += 1
        answer = await ask.text(f"Why delete {title}?")
        if not isinstance(answer, Accepted):
            return f"kept: {answer.action}"
        DONE[f"deleted {title}"] += 1
        return f"deleted {title}: {answer.data}"

    @server.tool()
    async def archive(title: str) -> str:
        """Ask once, and keep the answer from the model."""
        answer = await ask.text(f"Where shall {title} go?")
        return f"archived {title}" if isinstance(answer, Accepted) else f"kept: {answer.action}"

    @server.tool()
    async def rename(title: str) -> str:
        """Ask twice, with an effect in between."""
        new = (await ask.text(f"New name of {title}?")).or_stop("kept")
        DONE[f"reserved {new}"] += 1
        why = (await ask.text(f"Why {new}?")).or_stop("kept")
        return f"{title} is {new} because {why}"

    @server.tool()
    async def label(title: str) -> str:
        """Ask for two things at once."""
        got = await ask.all(colour=ask.text("Which colour?"), size=ask.text("Which size?"))
        DONE[f"labelled {title}"] += 1
        return f"{title}: {got['colour'].or_stop('kept')} {got['size'].or_stop('kept')}"

    @server.tool()
    async def connect(account: str) -> str:
        """Ask once, by a link."""
        answer = await ask.open(f"Connect {account}", "https://notes.example.com/connect", wait=False)
        return f"connect: {answer.action}"

    @server.tool()
    async def work(steps: int, ctx: Context) -> str:
        """Report progress and log."""
        for step in range(steps):
            await ctx.report_progress(step + 1, steps, f"step {step + 1}")
        return f"{steps} steps"

    @server.prompt()
    async def letter(to: str) -> str:
        return f"Write to {to}."

    @server.resource("notes://{title}")
    async def note(title: str) -> str:
        return f"Note {title}"

    return server


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        make_notes().run("stdio")
    else:
        make_notes().run("streamable-http", port=int(sys.argv[2]))
