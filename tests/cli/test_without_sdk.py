"""Commands that need no SDK start without one; an unsupported release is refused with one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests" / "strangers" / "old_sdk" / ".venv-1.12.4"
NEEDS_NONE = [
    ["--help"],
    ["gateway", "--help"],
    ["gateway", "doctor", "--json"],
    ["inbox", "--json"],
    ["pending"],
    ["ledger", "show", "--help"],
    ["policy", "show"],
    ["check", "form", '{"message": "Size?", "requestedSchema": {"type": "object", "properties": {}}}'],
    ["check", "url", "https://example.com/"],
]
NEEDS_ONE = [
    ["call", "greet", "--", "python", "x.py"],
    ["tools", "--", "python", "x.py"],
    ["demo", "--desk", "script"],
]
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        told = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "plain", "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
"""
"""A server that needs no SDK either."""
ONE_AFTER_THE_OTHER = """
import contextlib, io, json, sys, traceback
ends = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["handraise", *words]
    told, status = io.StringIO(), 0
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told):
        try:
            from handraise.cli import main
            main()
        except SystemExit as end:
            status = end.code or 0
        except BaseException:
            traceback.print_exc()
    ends.append((status, told.getvalue()))
print(json.dumps(ends))
"""

pytestmark = [pytest.mark.slow, pytest.mark.shows("N9")]


class Environment:
    """A virtual environment with what ours has, but with another mcp or none."""

    def __init__(self, folder: Path, fastmcp: str | None = None, mcp: Path | None = None) -> None:
        venv.create(folder / "venv", symlinks=True, with_pip=False)
        self.python = folder / "venv" / "bin" / "python"
        packages = folder / "packages"
        packages.mkdir()
        for each in Path(sysconfig.get_paths()["purelib"]).iterdir():
            if not each.name.startswith(("mcp", "fastmcp")) and each.suffix != ".pth":
                (packages / each.name).symlink_to(each)
        for each in () if mcp is None else mcp.glob("lib/python*/site-packages/mcp*"):
            (packages / each.name).symlink_to(each)
        if fastmcp is not None:
            told = packages / f"fastmcp-{fastmcp}.dist-info"
            told.mkdir()
            (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: fastmcp\nVersion: {fastmcp}\n")
        self.home = folder
        self.path = f"{packages}{os.pathsep}{ROOT / 'src'}"

    def python_code(self, code: str, *words: str, said: Any = None) -> subprocess.CompletedProcess[str]:
        home = str(self.home)
        return subprocess.run(
            [str(self.python), "-c", code, *words],
            env={"PYTHONPATH": self.path, "PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": home},
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=120,
            input="" if said is None else f"{json.dumps(said)}\n",
        )

    def each(self, commands: list[list[str]]) -> list[tuple[int, str]]:
        """The exit status of each command and its standard error, one after the other in one process."""
        done = self.python_code(ONE_AFTER_THE_OTHER, json.dumps(commands))
        assert done.returncode == 0, done.stderr
        return [(status, told) for status, told in json.loads(done.stdout)]

    def handraise(self, *words: str, said: Any = None) -> subprocess.CompletedProcess[str]:
        return self.python_code("from handraise.cli import main; main()", *words, said=said)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("without"))


@pytest.fixture(scope="module")
def too_old(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    if not (OLD / ".ready").exists():
        pytest.skip("make setup makes the environment with mcp 1.12.4")
    return Environment(tmp_path_factory.mktemp("old"), fastmcp="2.10.6", mcp=OLD)


def test_commands_that_need_no_sdk_work_without_one_and_beside_an_old_one(
    without: Environment, too_old: Environment
) -> None:
    for environment in (without, too_old):
        for words, (status, told) in zip(NEEDS_NONE, environment.each(NEEDS_NONE), strict=True):
            assert "Traceback" not in told, f"{words}: {told}"
            assert status in (0, 1), f"{words}: {told}"


def test_a_command_that_needs_an_sdk_says_so(without: Environment, too_old: Environment) -> None:
    for status, told in without.each(NEEDS_ONE):
        assert status == 2
        assert (
            told.strip() == 'handraise: mcp is not installed, and this needs it: pip install "mcp>=1.23,<3"'
        )
    for status, told in too_old.each(NEEDS_ONE):
        assert status == 2
        assert told.strip() == (
            'handraise: found mcp 1.12.4; Handraise needs 1.23 or newer, below 3: pip install "mcp>=1.23,<3"'
        )


def test_the_gateway_serves_without_an_sdk(without: Environment, tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    done = without.handraise("gateway", "--desk", "none", "--", str(without.python), str(server), said=asked)
    assert "Traceback" not in done.stderr, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "plain"


def test_doctor_says_which_commands_need_an_sdk(without: Environment) -> None:
    done = without.handraise("doctor", "--json")
    found = {each["what"]: each for each in json.loads(done.stdout)}
    assert found["mcp"]["state"] == "missing"
    assert "call, tools, design and demo need it" in found["mcp"]["said"]
    assert done.returncode == 0


def test_doctor_names_releases_that_are_not_supported(too_old: Environment) -> None:
    done = too_old.handraise("doctor")
    assert done.returncode == 2
    assert "found mcp 1.12.4; Handraise needs 1.23 or newer" in done.stdout
    assert "found fastmcp 2.10.6; Handraise needs 2.14 or newer" in done.stdout


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import handraise; handraise.Handraise().install(object())", "found mcp 1.12.4"),
        ("import handraise.client.fastmcp", "found fastmcp 2.10.6"),
    ],
)
def test_code_gets_a_set_up_error_with_one_sentence(too_old: Environment, code: str, sentence: str) -> None:
    done = too_old.python_code(code)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"handraise.errors.SetupError: {sentence}"), done.stderr


def test_importing_needs_no_sdk(without: Environment) -> None:
    code = "import handraise.client, handraise.testing, sys; from handraise import ask; print('mcp' in sys.modules)"
    assert without.python_code(code).stdout.strip() == "False"


def test_this_python_is_the_one_of_the_environment(without: Environment) -> None:
    there = without.python_code("import sys; print(*sys.version_info[:2])").stdout.split()
    assert there == [str(part) for part in sys.version_info[:2]]
