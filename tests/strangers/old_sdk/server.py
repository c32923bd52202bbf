"""A server of an old SDK, run in that SDK's own environment, which asks in the body of its tool.

python server.py stdio
python server.py http PORT
"""

import sys

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

server = FastMCP("old notes")


class Reason(BaseModel):
    reason: str


@server.tool()
async def delete(title: str, ctx: Context) -> str:
    answer = await ctx.elicit(f"Why delete {title}?", schema=Reason)
    return f"deleted {title}: {answer.data.reason}" if answer.action == "accept" else f"kept: {answer.action}"


if sys.argv[1] == "http":
    server.settings.port = int(sys.argv[2])
    server.run("streamable-http")
else:
    server.run()
