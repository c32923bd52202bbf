"""Run the README's code in this environment: `python -m tests.packaging.readme`.

`make dist` runs it in a fresh environment that has nothing but the wheel. It imports nothing of ours besides the reader
of snippets, which needs only the standard library.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
from importlib.metadata import version
from importlib.util import find_spec

from tests.docs.snippets import ROOT, Block, Page, commands, pages, run_python, same_output


def main() -> None:
    """Run every snippet; the first one that fails ends it."""
    found = find_spec("handraise")
    assert found is not None, "handraise is not installed here"
    assert found.origin is not None
    assert not found.origin.startswith(str(ROOT / "src")), f"handraise is the checkout's: {found.origin}"
    readme: Page = pages()[0]
    ran = 0
    for index, block in enumerate(readme.blocks):
        if readme.runs(block) and block.language in ("python", "console"):
            if block.language == "python":
                run_python(readme, index)
            else:
                _run_console(block)
            ran += 1
    print(f"handraise {version('handraise')}: {ran} snippets of the README ran")


def _run_console(block: Block) -> None:
    """Run the commands of a block where the examples are, with the programs of this environment."""
    expected_status = int(block.mark["exit"]) if block.mark and block.mark["exit"] else 0
    programs = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    environment = {**os.environ, "PATH": programs, "NO_COLOR": "1", "COLUMNS": "80"}
    for command, output in commands(block):
        done = subprocess.run(
            command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == expected_status, f"{command}\n{done.stdout}{done.stderr}"
        assert not output or same_output(done.stdout, output), f"{command} prints:\n{done.stdout}"


if __name__ == "__main__":
    main()
