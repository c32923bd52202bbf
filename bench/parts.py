"""The parts of the benchmark: each with its figures, its contenders and its time limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Part:
    """One module here with a function `run(bench)`."""

    title: str
    measures: str
    against: str
    minutes: float
    """Its time limit. It is stopped then, and what it has not measured counts as missed."""
    slower: str = ""
    """Why ours takes longer, where it does."""


PARTS: Final = {
    "ask": Part(
        "Asking",
        "a tool that never asks, one question, a chain of questions, parked calls; in memory, over stdio and "
        "over HTTP",
        "the SDK alone, its `Resolve` and `ctx.elicit`, FastMCP",
        11,
        "A call that asks is two requests where a plain call is one.",
    ),
    "forms": Part(
        "Forms",
        "reading a schema and checking an answer",
        "jsonschema, jsonschema-rs, fastjsonschema, pydantic",
        2,
        "jsonschema-rs is compiled code, and says only whether an answer is valid.",
    ),
    "gateway": Part(
        "The gateway",
        "a plain call and one that asks, through stdio and HTTP; and the start",
        "the direct connection, FastMCP's proxy",
        4,
        "The gateway judges, records and shows a question on its way.",
    ),
    "guards": Part("Guards", "a query that needs no question", "the database's own EXPLAIN", 1),
    "ledger": Part(
        "The ledger",
        "an event on disk, with 1, 10 and 100 writers; verification",
        "SQLite with group commit, a sync for each event",
        1,
        "The bare database writes finished rows. Handraise makes, hashes and encrypts them first.",
    ),
    "scale": Part(
        "Scale",
        "1,000 to 100,000 pending questions on two nodes, answers of 64 clients, wake-ups across processes",
        "a bare PostgreSQL",
        4,
        "Bare transactions only write rows. They check nobody's right to answer, and encrypt nothing. A bare NOTIFY "
        "carries nothing. Ours brings an encrypted answer, which is decrypted before the tool goes on.",
    ),
    "secrets": Part(
        "Secrets", "judging a form, scanning an answer; how right the judge is", "a fixed bar", 1
    ),
    "urls": Part("Links", "judging a link", "bare parsers, a fixed bar", 1, "A parser judges nothing."),
}
