"""The pages that show what crosses the wire: real runs, with ids and times that stay the same."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final

import anyio
from docs.make.flows import FLOWS, Flow
from docs.make.markdown import NOTICE, block, table
from docs.make.runs import Run
from docs.make.shop import source_of

from handraise.revisions import Revision
from handraise.trace import Trace

INTRODUCTION: Final = """\
See the messages between a client and a server when the server asks, on each revision. Every page shows a real run of
one small server. [See the messages](../trace.md) says how to record your own. `→` goes to the server, `←` to the
client. Ids are numbers, and times are left out. So a page changes only when the messages change.

The specification has the rules, under "Elicitation" for
[2025-06-18](https://modelcontextprotocol.io/specification/2025-06-18/client/elicitation),
[2025-11-25](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation) and
[2026-07-28](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation), and for the rounds of
2026-07-28 under "[multi round-trip requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)".
"""

_NAMED: Final = {
    r"q_[0-9a-f]{24}": "q_{}",
    r"hr1\.[\w-]{4}(?=…)": "hr1.",
    r"(?<=ticket ')[\w-]+(?=')": "ticket-{}",
    r'(?<="ticket": ")[\w-]+(?=")': "ticket-{}",
    r'(?<="expiresIn": )29\d\.\d+': "300.0",
}
"""Values that differ between runs, and what replaces them; `{}` counts."""


def index_page() -> str:
    """The list of flows."""
    rows = [(f"[{flow.title}]({flow.name}.md)", _first_sentence(flow.words)) for flow in FLOWS]
    return f"# On the wire\n\n{NOTICE}\n{INTRODUCTION}\n" + table(("flow", ""), rows)


def _first_sentence(words: str) -> str:
    """The text up to the first full stop before a space; its links lead out of the folder as before."""
    return re.split(r"(?<=[.?]) ", words, maxsplit=1)[0]


def flow_page(flow: Flow) -> str:
    """The page of a flow."""
    return "\n".join(part.rstrip("\n") + "\n" for part in _page(flow))


def _page(flow: Flow) -> Iterator[str]:
    yield f"# {flow.title}"
    yield NOTICE
    yield flow.words
    yield block("python", source_of(flow.tool), "not run: it is a part of the server that was run")
    for revision in Revision:
        yield f"## {revision}"
        yield flow.notes[revision]
        for heading, run in flow.runs.items():
            if heading:
                yield f"### {heading}, {revision}"
            yield block("text", traced(run, revision, handshake=flow.handshake))


def traced(run: Run, revision: Revision, *, handshake: bool = False) -> str:
    """The messages of a run, from its first call on, or from the handshake."""
    lines: list[str] = []
    trace = Trace(lines.append, clock=lambda: 0.0)

    async def bounded() -> None:
        with anyio.fail_after(20):
            await run(revision, trace.message)

    anyio.run(bounded)
    crossed = itertools.dropwhile(lambda line: not handshake and "tools/call" not in line, lines)
    return constant("".join(line for line in crossed if "tools/list" not in line))


def constant(trace: str) -> str:
    """The same trace with names for what is random, and without times."""
    for pattern, name in _NAMED.items():
        seen: dict[str, int] = {}
        trace = re.sub(pattern, lambda found: name.format(seen.setdefault(found[0], len(seen) + 1)), trace)  # noqa: B023
    return re.sub(r"(?m)^ +0\.000 s ", "", trace).strip("\n") + "\n"
