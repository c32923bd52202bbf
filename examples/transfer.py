"""Two questions, a side effect between them, a clock in the message: `python examples/transfer.py`

The tool below is the whole of what an author writes. It is called on every revision of the protocol and the
money that moved is counted, beside the same tool written with the SDK alone (`comparison.py`).
"""

import asyncio
from datetime import UTC, datetime

from mcp.server.mcpserver import MCPServer

import comparison
from handraise import Accepted, Cancelled, Declined, Handraise, ask

server = Handraise().install(MCPServer("bank"))
moved: list[int] = []


@server.tool()
async def transfer(amount: int) -> str:
    """Move money out of an account that the person chooses."""
    accounts = {"house": "Household, 1,250.00", "trips": "Holidays, 480.00"}
    match await ask.choose(f"It is {datetime.now(UTC).time()}. Take {amount} from which account?", accounts):
        case Accepted(account):
            moved.append(amount)
        case Declined() | Cancelled():
            return "Nothing was moved."
    receipt = await ask.confirm(f"{amount} left {account!r} at {datetime.now(UTC).time()}. Print a receipt?")
    return f"Moved {amount}; receipt: {receipt.action}."


if __name__ == "__main__":
    asyncio.run(comparison.show(server, moved))
