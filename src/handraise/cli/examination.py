"""What `handraise doctor` looks at: one function for each thing, each tells what it found."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from handraise.errors import HandraiseError

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
"""Each extra: the module that shows that it is there, and what it gives."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    state: Literal["works", "missing", "broken"]
    said: str
    next_step: str = ""


def examine() -> list[Finding]:
    """Look at everything. What cannot even be looked at is broken, with the reason."""
    found: list[Finding] = []
    for look in (_versions, _extras, _configuration, _ledger, _store, _vault, _desks):
        try:
            found.extend(look())
        except (HandraiseError, OSError) as error:
            found.append(Finding(look.__name__.strip("_"), "broken", str(error)))
    return found


def _versions() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", "works", python)
    from handraise.server.install import require_sdk

    try:
        require_sdk()
    except HandraiseError as error:
        yield Finding("mcp", "broken", str(error), "pip install --upgrade 'handraise'")
    else:
        yield Finding("mcp", "works", _version("mcp"))
    yield Finding("handraise", "works", _version("handraise"))


def _extras() -> Iterator[Finding]:
    for extra, (module, gives) in EXTRAS.items():
        there = find_spec(module) is not None
        yield Finding(
            f"extra {extra}",
            "works" if there else "missing",
            gives,
            "" if there else f"pip install 'handraise[{extra}]', if you want that",
        )


def _configuration() -> Iterator[Finding]:
    from handraise.policy.files import load_policy
    from handraise.policy.places import find_config

    file = find_config(os.environ, Path())
    load_policy().own.book()
    yield Finding("configuration", "works", str(file.path) if file else "no file; the defaults count")


def _ledger() -> Iterator[Finding]:
    from handraise.ledger.home import ledger_path
    from handraise.policy.files import load_settings

    if load_settings().ledger.unsafe_no_ledger:
        yield Finding(
            "ledger", "missing", "switched off by unsafe_no_ledger", "take that line out of the file"
        )
        return
    yield _place("ledger", ledger_path(), "handraise ledger verify tells whether it was changed")


def _store() -> Iterator[Finding]:
    from handraise.policy.chosen import choose
    from handraise.policy.files import load_settings
    from handraise.stores.named import own_or_named_store, own_store_file

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

    name = "PostgreSQL" if where.startswith("postgres") else where
    yield Finding("store", "works", f"{name}, questions that wait: {asyncio.run(count())}")


def _vault() -> Iterator[Finding]:
    from handraise.vault.keys import usual_keys

    try:
        keys = usual_keys()
    except HandraiseError:
        yield Finding("vault", "missing", "no key, so pages cannot keep secrets", "handraise vault new-key")
    else:
        yield Finding("vault", "works", f"its key comes from {type(keys).__name__}")


def _desks() -> Iterator[Finding]:
    columns, lines = shutil.get_terminal_size()
    if not sys.stdin.isatty():
        yield Finding("terminal", "missing", "this is none; questions wait at the web desk or are parked")
    elif columns < 80 or lines < 24:
        yield Finding("terminal", "works", f"{columns}x{lines}: tight", "80x24 is comfortable")
    else:
        yield Finding("terminal", "works", f"{columns}x{lines}")
    import webbrowser

    try:
        opened = webbrowser.get()
    except webbrowser.Error:
        yield Finding(
            "browser", "missing", "none to open here", "open the desk's link on this computer yourself"
        )
    else:
        yield Finding("browser", "works", getattr(opened, "name", type(opened).__name__))


def _place(what: str, path: Path, more: str) -> Finding:
    """Whether a file is there and ours to write, or could be made."""
    if path.exists():
        writable = os.access(path, os.R_OK | os.W_OK)
        said = f"{path}, {path.stat().st_size / 1024:,.0f} KiB" if writable else f"{path} cannot be written"
        return Finding(
            what, "works" if writable else "broken", said, more if writable else "mend its owner or mode"
        )
    parent = next(each for each in path.parents if each.exists())
    if parent.is_dir() and os.access(parent, os.W_OK):
        return Finding(what, "works", f"{path}, made when it is needed")
    return Finding(
        what,
        "broken",
        f"{path} cannot be made: {parent} is no folder that you can write to",
        "mend its owner or mode",
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"
