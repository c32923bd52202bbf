"""What whoever starts a gateway over HTTP reads first: that it runs, and who comes to it where."""

from __future__ import annotations

from collections.abc import Iterable

from handraise.display import for_line
from handraise.gateway.options import Options

OWN_DESK = "the desk: handraise inbox"


def announcement(
    address: str, servers: Iterable[str], options: Options, public_url: str | None = None
) -> list[str]:
    """The lines. They name servers and not what they are started with, where secrets often are.

    `public_url` is where people find a shared gateway, which is served at `address` to whatever is in front of it.
    """
    clients = f"http://{address}/mcp" if public_url is None else f"{public_url}/mcp, served at {address}"
    desk = OWN_DESK if public_url is None else f"the desk: {public_url}/"
    questions = {
        "fallback": f"in the client; where it cannot ask, at {desk}",
        "always": f"at {desk}",
        "none": "in the client, and nowhere else",
    }
    return [
        "The gateway is running; Ctrl+C ends it.",
        f"  clients    {clients}",
        f"  servers    {', '.join(for_line(name, limit=100) for name in servers)}",
        f"  questions  {questions[options.desk]}",
    ]
