"""The wheel in fresh environments: bare, and with each extra, each doing what it is there for."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.named import named_commands
from tests.docs.snippets import blocks_run_by, commands, pages
from tests.packaging.conftest import made_once
from tests.strangers.programs import PACKAGES

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
pytestmark = pytest.mark.slow

ASKS = (HERE / "asks.py").read_text()
USES = {
    "fastmcp": "from fastmcp import FastMCP; from handraise import Handraise; Handraise().install(FastMCP('notes'))",
    "web": "from handraise.desks.web import WebDesk; from handraise.pages import SecretPage",
    "terminal": "from handraise.desks.terminal.app import DeskApp",
    "oauth": "from handraise.pages.oauth import Account",
    "passkeys": "import handraise.desks.web; from handraise.desks.passkeys import require_library as r; r()",
    "keyring": "from handraise.vault import SystemKeyring; import keyring",
    "postgres": "from handraise.stores.postgres import PostgresStore; import psycopg",
    "sql": "from handraise.guards.sql import SqlGuard",
}
"""What each extra has to make possible."""
MISSING = {
    "web": "import handraise.desks.web",
    "postgres": "from handraise.stores.postgres import PostgresStore",
    "sql": "import handraise.guards.sql",
    "passkeys": "from handraise.desks.passkeys import require_library as r; r()",
}
"""What tells which extra is missing."""
INSTALLING = "test_what_the_documents_say_to_install_is_installed"


def said_to_install() -> set[tuple[str, ...]]:
    """What the documents tell to install with pip, and each extra that none of them names."""
    named = {command for page in pages() for command in named_commands(page)}
    shown = {command for block in blocks_run_by(INSTALLING) for command, _ in commands(block)}
    words = [shlex.split(command) for command in named | shown]
    installs = [each[2:] for each in words if each[:2] == ["pip", "install"]]
    said = {(re.sub(r"^\.(?=\[|$)", "handraise", first), *others) for first, *others in installs}
    assert ("handraise",) in said  # which the bare environment is made with
    return said - {("handraise",)} | {(f"handraise[{extra}]",) for extra in USES}


def install(wheel: Path, folder: Path, *wanted: str) -> Path:
    """The interpreter of a fresh environment with nothing but the wheel, what it brings, and what else is wanted."""
    python = folder / "environment" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(python.parents[1])], check=True)
    ours = folder / "handraise.txt"
    ours.write_text(f"handraise @ {wheel.as_uri()}\n")
    _pip(python, "-c", str(ours), "handraise", *wanted)
    return python


def add(bare: Path, folder: Path, *wanted: str) -> Path:
    """The interpreter of a copy of the bare environment that has this too, and no more."""
    copied = folder / "environment"
    shutil.copytree(bare.parents[1], copied, symlinks=True, copy_function=os.link)
    python = copied / "bin" / "python"
    _pip(python, *wanted)
    return python


def _pip(python: Path, *wanted: str) -> None:
    """Install by name, as the documents say it."""
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    named = {re.split(r"[=<>\[]", each)[0] for each in wanted if not each.startswith("-")}
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    constraints = python.parents[2] / "constraints.txt"
    constraints.write_text("\n".join(pin for pin in pinned if pin.partition("==")[0] not in named))
    command = [*pip, "--disable-pip-version-check", "-c", str(constraints), *wanted]
    subprocess.run(command, check=True, capture_output=True)


def run(python: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Run a program where neither our checkout nor our environment can be seen."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    command = [str(python), "-W", "error", "-c", source]
    return subprocess.run(
        command, cwd=python.parents[2], env=clean, capture_output=True, text=True, timeout=60
    )


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = made_once(tmp_path_factory, "bare", lambda folder: install(wheel, folder))
    return folder / "environment" / "bin" / "python"


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in path.as_posix()
    }
    assert wanted <= set(zipfile.ZipFile(wheel).namelist())


def test_the_sdist_has_what_the_wheel_is_built_from(built: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/handraise/py.typed"} <= names
    assert not [name for name in names if "node_modules" in name or ".venv" in name]


def test_the_base_install_asks_on_every_revision(bare: Path) -> None:
    done = run(bare, ASKS)
    assert done.stdout.splitlines() == ["2025-06-18 deleted", "2025-11-25 deleted", "2026-07-28 deleted"], (
        done
    )


@pytest.fixture(scope="module")
def pinned(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment in which everything else needs mcp 1.x."""
    return install(wheel, tmp_path_factory.mktemp("pinned"), "mcp<2")


@pytest.mark.soak
@pytest.mark.shows("N8")
def test_a_server_that_is_pinned_to_mcp_1_asks_with_one_more_line(pinned: Path) -> None:
    source = ASKS.replace(
        "mcp.server.mcpserver import MCPServer", "mcp.server.fastmcp import FastMCP as MCPServer"
    )
    legacy = source.replace("for revision in Revision:", "for revision in (r for r in Revision if r.legacy):")
    done = run(pinned, legacy)
    assert done.stdout.splitlines() == ["2025-06-18 deleted", "2025-11-25 deleted"], done


@pytest.mark.soak
@pytest.mark.shows("N8")
def test_a_fastmcp_that_is_too_old_is_refused_in_one_sentence(pinned: Path, tmp_path: Path) -> None:
    of_its_day = ("mcp<2", "pydantic==2.11.7", "pydantic-core==2.33.2")
    old = add(pinned, tmp_path, "fastmcp==2.10.6", *of_its_day)
    done = run(old, f"import warnings; warnings.simplefilter('ignore'); {USES['fastmcp']}")
    last = done.stderr.strip().splitlines()[-1]
    assert "SetupError: found fastmcp 2.10.6; Handraise needs 2.14 or newer" in last, done.stderr


def test_the_readme_runs_in_the_base_install(bare: Path) -> None:
    command = [str(bare), "-W", "error", "-m", "tests.packaging.readme"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "snippets of the README ran" in done.stdout


def test_the_command_helps_in_the_base_install(bare: Path) -> None:
    done = subprocess.run([bare.parent / "handraise", "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "gateway" in done.stdout


@pytest.mark.parametrize("extra", MISSING)
def test_what_is_missing_is_named(extra: str, bare: Path) -> None:
    done = run(bare, MISSING[extra])
    assert f"handraise[{extra}]" in done.stderr


def test_every_extra_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["optional-dependencies"].keys() - {"all", "dev"} == USES.keys()


@pytest.mark.soak
@pytest.mark.parametrize("wanted", sorted(said_to_install()), ids=" ".join)
def test_what_the_documents_say_to_install_is_installed(
    wanted: tuple[str, ...], bare: Path, tmp_path: Path
) -> None:
    extras = [extra for found in re.findall(r"\[([\w,]+)\]", wanted[0]) for extra in found.split(",")]
    uses = [USES[extra] for extra in extras] + [f"import {name}" for name in ("handraise", *wanted[1:])]
    done = run(add(bare, tmp_path, *wanted), "\n".join(uses))
    assert done.returncode == 0, done.stderr


@pytest.mark.stranger
def test_a_strict_checker_knows_every_public_type(bare: Path, tmp_path: Path) -> None:
    public = set(_public_names())
    environment = {**os.environ, "VIRTUAL_ENV": str(bare.parents[1])}
    environment["PATH"] = os.pathsep.join([str(bare.parent), str(PACKAGES / ".bin"), os.environ["PATH"]])
    command = ["pyright", "--verifytypes", "handraise", "--ignoreexternal", "--outputjson"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    known = {symbol["name"]: symbol["isTypeKnown"] for symbol in symbols}
    unknown = [
        name
        for name, is_known in known.items()
        if not is_known and any(name == each or name.startswith(f"{each}.") for each in public)
    ]
    assert len(known) > 1000
    assert not unknown


def _public_names() -> Iterator[str]:
    """Each exported name, and for a class also the one under which it was made, which its attributes go by."""
    for module, exported in json.loads((HERE / "api.json").read_text()).items():
        for name in exported:
            yield f"{module}.{name}"
            made = getattr(importlib.import_module(module), name)
            if isinstance(made, type):
                yield f"{made.__module__}.{made.__qualname__}"
