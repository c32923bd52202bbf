"""`handraise doctor`: check whether this environment has everything for asking, and say what to do if not."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import typer

from handraise.cli.common import AsJson
from handraise.errors import HandraiseError
from handraise.policy.places import database_of, find_config

EXAMPLES = """Examples:

\b
  handraise doctor
  handraise doctor --json

Exit status: 0 when everything that is needed works, 1 when something is broken, 2 when a release of mcp or FastMCP is
not supported. A missing optional part is no problem.
For MCP clients and servers: handraise gateway doctor.
"""

_MARKS = {"works": "ok", "missing": "--", "broken": "!!", "unsupported": "!!"}


def doctor(as_json: AsJson = False) -> None:
    """Check this environment, and say what is missing or broken.

    It looks at versions, extras, configuration, ledger, store, keys, and where you could be asked. It changes nothing
    and sends nothing. It only connects to a PostgreSQL store, if you have one.
    """

    found = examine()
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in found], indent=2, ensure_ascii=False))
    else:
        width = max(len(finding.what) for finding in found)
        for finding in found:
            typer.echo(f"{_MARKS[finding.state]} {finding.what:{width}}  {finding.said}")
            if finding.next_step:
                typer.echo(f"   {'':{width}}  -> {finding.next_step}")
    states = [finding.state for finding in found]
    broken = states.count("broken") + states.count("unsupported")
    if not as_json:
        typer.echo(f"\n{broken} broken." if broken else "\nEverything that is needed works.")
    if broken:
        raise typer.Exit(2 if "unsupported" in states else 1)


EXTRAS = {
    "fastmcp": ("fastmcp", "ask in FastMCP servers, be asked by FastMCP's client"),
    "web": ("jinja2", "the web desk, and pages for secrets"),
    "terminal": ("textual", "the terminal desk in full screen"),
    "oauth": ("authlib", "connect accounts"),
    "passkeys": ("webauthn", "passkeys at the web desk"),
    "keyring": ("keyring", "the vault's key in the system's keyring"),
    "postgres": ("psycopg", "a store that several nodes share"),
    "sql": ("sqlglot", "guards in front of SQL statements"),
}
"""Each extra: a module that it installs, and its use."""

_WITHOUT_SDK = (
    "not installed: call, tools, design and demo need it, as do servers and clients; all else works"
)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check."""

    what: str
    state: Literal["works", "missing", "broken", "unsupported"]
    said: str
    next_step: str = ""


def examine() -> list[CheckResult]:
    """Run all checks. A check that fails counts as broken, with the reason."""
    found: list[CheckResult] = []
    for look in (_versions, _extras, _configuration, _ledger, _store, _vault, _desks):
        try:
            found.extend(look())
        except (HandraiseError, OSError) as error:
            found.append(CheckResult(look.__name__.strip("_"), "broken", str(error)))
    return found


def _versions() -> Iterator[CheckResult]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield CheckResult("python", "works", python)
    yield _sdk()
    yield CheckResult("handraise", "works", _version("handraise"))


def _sdk() -> CheckResult:
    from handraise.sdk.releases import problem_with, release_of

    if (found := release_of("mcp")) is None:
        return CheckResult("mcp", "missing", _WITHOUT_SDK, "pip install 'handraise', if you want those")
    if (problem := problem_with("mcp")) is not None:
        return CheckResult("mcp", "unsupported", problem)
    return CheckResult("mcp", "works", found)


def _extras() -> Iterator[CheckResult]:
    from handraise.sdk.releases import problem_with, release_of

    for extra, (module, gives) in EXTRAS.items():
        there = find_spec(module) is not None
        if extra == "fastmcp" and release_of("fastmcp") is not None and (problem := problem_with("fastmcp")):
            yield CheckResult("extra fastmcp", "unsupported", problem)
            continue
        yield CheckResult(
            f"extra {extra}",
            "works" if there else "missing",
            gives,
            "" if there else f"pip install 'handraise[{extra}]', if you want that",
        )


def _configuration() -> Iterator[CheckResult]:
    from handraise.policy.files import load_policy

    file = find_config(os.environ, Path())
    load_policy().own.book()
    yield CheckResult("configuration", "works", str(file.path) if file else "no file; the defaults count")


def _ledger() -> Iterator[CheckResult]:
    import asyncio

    from handraise.ledger import Ledger
    from handraise.ledger.own_ledger import ledger_place
    from handraise.policy.files import load_settings
    from handraise.policy.places import database_of

    if load_settings().ledger.unsafe_no_ledger:
        yield CheckResult(
            "ledger", "missing", "switched off by unsafe_no_ledger", "take that line out of the file"
        )
        return
    place = ledger_place()
    if isinstance(place, Path):
        yield _place("ledger", place, "handraise ledger verify tells whether it was changed")
        return

    async def size() -> int:
        ledger = Ledger.at(place)
        try:
            return await ledger.tables.size()
        finally:
            await ledger.store.aclose()

    database = database_of(place)
    assert database is not None
    yield CheckResult("ledger", "works", f"{database.name}, events in its tree: {asyncio.run(size())}")


def _store() -> Iterator[CheckResult]:
    import asyncio

    from handraise.policy.files import load_settings
    from handraise.policy.settings import choose
    from handraise.stores import own_or_named_store, own_store_file

    where = str(choose("store.url", None, os.environ, load_settings(), None).value)
    if not where:
        yield _place("store", own_store_file(os.environ), "")
        return

    async def count() -> int:
        store = own_or_named_store(where)
        try:
            return len(await store.pending())
        finally:
            await store.aclose()

    name = database.name if (database := database_of(where)) else where
    yield CheckResult("store", "works", f"{name}, questions that wait: {asyncio.run(count())}")


def _vault() -> Iterator[CheckResult]:
    from handraise.vault.keys import default_keys

    try:
        keys = default_keys()
    except HandraiseError:
        yield CheckResult(
            "vault", "missing", "no key, so pages cannot keep secrets", "handraise vault new-key"
        )
    else:
        yield CheckResult("vault", "works", f"its key comes from {type(keys).__name__}")


def _desks() -> Iterator[CheckResult]:
    columns, lines = shutil.get_terminal_size()
    if not sys.stdin.isatty():
        yield CheckResult("terminal", "missing", "none here; questions wait at the web desk or are parked")
    elif columns < 80 or lines < 24:
        yield CheckResult("terminal", "works", f"{columns}x{lines}: tight", "80x24 is comfortable")
    else:
        yield CheckResult("terminal", "works", f"{columns}x{lines}")
    from handraise.urls.open import HINDRANCES, find_opener

    found = find_opener()
    if found in HINDRANCES:
        yield CheckResult(
            "browser", "missing", "none to open here", "answer in a terminal: handraise inbox --terminal"
        )
    else:
        yield CheckResult("browser", "works", Path(found).name)


def _place(what: str, path: Path, more: str) -> CheckResult:
    """Check that a file can be written or created."""
    if path.exists():
        writable = os.access(path, os.R_OK | os.W_OK)
        said = f"{path}, {path.stat().st_size / 1024:,.0f} KiB" if writable else f"{path} cannot be written"
        return CheckResult(
            what, "works" if writable else "broken", said, more if writable else "mend its owner or mode"
        )
    parent = next(each for each in path.parents if each.exists())
    if parent.is_dir() and os.access(parent, os.W_OK):
        return CheckResult(what, "works", f"{path}, made when it is needed")
    return CheckResult(
        what,
        "broken",
        f"{path} cannot be made: {parent} is no folder that you can write to",
        "mend its owner or mode",
    )


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"
