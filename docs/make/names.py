"""The reference of public names: each with its docstring, and with code that was run."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import itertools
import runpy
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from docs.make.markdown import NOTICE, block, code, table

import handraise

EXAMPLES: Final = Path(__file__).parent / "examples"

SECTIONS: Final = {
    "Asking in a server": ("server", ("Handraise", "ask")),
    "Questions": (
        "questions",
        (
            "ask.confirm",
            "ask.choose",
            "ask.choose_many",
            "ask.text",
            "ask.number",
            "ask.date",
            "ask.all",
            "ask.sync",
        ),
    ),
    "Answers": ("answers", ("Answer", "Accepted", "Declined", "Cancelled", "Fallback")),
    "No answer": ("no_answer", ("NoAnswer", "NotSupported", "Expired", "Withdrawn", "Failed")),
    "Other endings": ("endings", ("HandraiseError", "Stopped", "Stale", "UnusableAnswer")),
    "Forms": ("form", ("Form",)),
    "Links": ("links", ("ask.open", "ask.require", "ask.person", "UrlQuestion", "complete", "Person")),
    "Pages and secrets": ("pages", ("ask.secret", "ask.setup", "ask.outside", "ask.page", "Secret")),
    "Once, and again": ("replay", ("once", "replayable", "working_time", "MemoryStore", "SqliteStore")),
    "What the client knows": ("client_side", ("ask.roots", "ask.model")),
}
"""The names in `handraise`, with an example for each."""

ELSEWHERE: Final = {"ask.connect": "connect.md"}
"""A name whose example needs another party, and the page that has it."""

WITHOUT_EXAMPLE: Final = {"client", "guards"}
"""Parts whose every name is used by the examples on their own pages."""

PARTS: Final = {
    "server": ("asking.md", "suspended-calls.md", "servers.md"),
    "stores": ("stores.md",),
    "stores.postgres": ("deployment.md",),
    "forms": ("forms.md",),
    "pages": ("pages.md", "pages-hosting.md"),
    "pages.oauth": ("connect.md",),
    "vault": ("vault.md",),
    "client": ("hosts.md",),
    "desks": ("desks.md", "terminal.md"),
    "policy": ("policy.md", "policy-rules.md", "headless.md"),
    "guards": ("guards.md", "sql-guard.md"),
    "guards.sql": ("sql-guard.md",),
    "ledger": ("ledger.md", "ledger-proof.md"),
    "trace": ("trace.md",),
    "urls": ("security/links.md",),
    "testing": ("testing.md",),
    "lint": ("lint.md",),
    "design": ("design.md",),
}
"""The parts with public names of their own, in reading order, each with the pages about it."""


def names_page() -> str:
    """The page."""
    return "\n".join(part.rstrip("\n") + "\n" for part in _page())


def _page() -> Iterator[str]:
    yield "# Names"
    yield NOTICE
    yield "Look up a public name: its purpose, and code that uses it. We may change any name that is not on this page."
    yield "`**common` stands for the [options of every question](../asking.md#what-you-can-ask)."
    yield "## handraise"
    for title, (example, names) in SECTIONS.items():
        yield f"### {title}"
        for name in names:
            yield _told(name, resolve(name))
        yield block("python", source_of(example))
        yield block("text", printed_by(example), "prints")
    for name, page in ELSEWHERE.items():
        yield _told(name, resolve(name)) + f"\nAn example: [{page.removesuffix('.md')}](../{page}).\n"
    for part, about in PARTS.items():
        module = import_module(f"handraise.{part}")
        yield f"## handraise.{part}"
        yield _docstring(module)
        yield table(("name", ""), _rows(module))
        links = (f"[{page.removesuffix('.md').rpartition('/')[2]}](../{page})" for page in about)
        yield f"More: {', '.join(links)}."
        if part not in WITHOUT_EXAMPLE:
            yield block("python", source_of(example_of(part)))
            yield block("text", printed_by(example_of(part)), "prints")


def resolve(name: str) -> Any:
    """Resolve a dotted name of the package."""
    thing: Any = handraise
    for word in name.split("."):
        thing = getattr(thing, word)
    return thing


def example_of(part: str) -> str:
    """The example that shows the names of a part."""
    return f"parts/{part.replace('.', '_')}"


def source_of(example: str) -> str:
    """The text of an example."""
    return (EXAMPLES / f"{example}.py").read_text(encoding="utf-8")


def printed_by(example: str) -> str:
    """The output of an example."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="__main__")
    return printed.getvalue()


def _told(name: str, thing: Any) -> str:
    return f"#### `{name}{_signature(name, thing)}` {{ #{name} }}\n\n{words_for(name, thing)}\n"


def words_for(name: str, thing: Any, home: ModuleType = handraise) -> str:
    """The purpose of a public name, from its docstring."""
    if isinstance(thing, type) or inspect.isroutine(thing):
        return _docstring(thing)
    if name == "ask":
        return _docstring(type(thing))
    return _said_below(Path(home.__file__ or "").parent).get(name, "")


def _docstring(thing: Any) -> str:
    return inspect.getdoc(thing) or ""


@cache
def _said_below(folder: Path) -> dict[str, str]:
    """The text below each constant and type alias of a part. People use it as a docstring."""
    said: dict[str, str] = {}
    for path in sorted(folder.rglob("*.py")):
        for node, below in itertools.pairwise(ast.parse(path.read_text(encoding="utf-8")).body):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                words = inspect.cleandoc(str(below.value.value))
                said |= {each.id: words for each in targets if isinstance(each, ast.Name)}
    return said


def _signature(name: str, thing: Any) -> str:
    """The parameters, if they are short enough for a heading."""
    if (
        name in ("Answer", "Form")  # users make a form with its class methods
        or not callable(thing)
        or (isinstance(thing, type) and issubclass(thing, BaseException))
    ):
        return ""
    stars: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(thing).parameters.values()
    shown = ", ".join(f"{stars.get(each.kind, '')}{each.name}" for each in parameters)
    return f"({shown})" if len(shown) < 70 else "(…)"


def _rows(module: ModuleType) -> Iterator[tuple[str, str]]:
    for name in module.__all__:
        yield code(name), words_for(name, getattr(module, name), module).partition("\n\n")[0]
