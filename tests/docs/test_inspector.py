"""The Inspector does what its page says: its command line goes through the walk, and its web page starts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.docs.named import named_commands
from tests.docs.shell import Shell, free_port
from tests.docs.snippets import blocks_run_by, commands, pages, same_output
from tests.strangers.programs import PACKAGES

pytestmark = [
    pytest.mark.stranger,
    pytest.mark.slow,
    pytest.mark.shows("T1"),
    pytest.mark.xdist_group("documents"),
]

[PAGE] = [page for page in pages() if page.name == "docs/trace.md"]
ID = re.compile(r"elicitation-[0-9a-f-]{36}")


@pytest.fixture
def inspector(shell: Shell) -> Iterator[Shell]:
    """A home with the page's server, where the packages from npm are installed."""
    shell.add_files(PAGE.files)
    (shell.folder / "node_modules").symlink_to(PACKAGES)
    shell.environment["PATH"] += f"{os.pathsep}{PACKAGES / '.bin'}"
    shell.environment["NODE_COMPILE_CACHE"] = str(PACKAGES / ".cache")
    yield shell
    shell.run("mcpdo daemon stop")


def test_mcpdo_goes_through_the_walk(inspector: Shell) -> None:
    [walk] = blocks_run_by("test_mcpdo_goes_through_the_walk")
    [named, *_] = ID.findall(walk.text)
    asked = named
    for command, expected in commands(walk):
        shown = inspector.run(command.replace(named, asked)).stdout
        asked = next(iter(ID.findall(shown)), asked)
        told = re.sub(r"(?m)^Server: .*python", "Server: python", shown.replace(asked, named))
        assert same_output(told, expected), f"{command} prints:\n{shown}"


@pytest.mark.soak
def test_mcpdo_is_brought_by_what_the_page_says_to_install(tmp_path: Path) -> None:
    """What is global is in a folder of its own, and comes from npm's cache where that has it."""
    [command] = [each for each in named_commands(PAGE) if each.startswith("npm install")]
    around = {
        **os.environ,
        "PATH": f"{PACKAGES / '.bin'}{os.pathsep}{os.environ['PATH']}",  # where Node is as new as it has to be
        "npm_config_prefix": str(tmp_path),
        "npm_config_prefer_offline": "true",
    }
    done = subprocess.run(command.split(), env=around, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = subprocess.run([f"{tmp_path}/bin/mcpdo", "--help"], env=around, capture_output=True, text=True)
    assert "tools/call" in told.stdout


def test_the_web_page_of_the_inspector_starts(inspector: Shell) -> None:
    [command] = [each for each in named_commands(PAGE) if each.startswith("npx")]
    inspector.environment |= {"CLIENT_PORT": str(free_port()), "npm_config_update_notifier": "false"}
    with subprocess.Popen(
        command.split(),
        cwd=inspector.folder,
        env=inspector.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # npx starts others, which end with it
    ) as started:
        assert started.stdout is not None
        try:
            address = next(
                found[0] for line in started.stdout if (found := re.findall(r"http://\S+TOKEN=\w+", line))
            )
            with urlopen(address, timeout=20) as page:  # noqa: S310 - it begins with http, as found above
                assert page.status == 200
        finally:
            os.killpg(started.pid, signal.SIGTERM)
