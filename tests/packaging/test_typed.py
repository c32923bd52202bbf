"""What strict type checkers know of the answers to every question, in a program of a user's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.strangers.programs import PACKAGES

ROOT = Path(__file__).parents[2]
TYPED = (Path(__file__).parent / "typed.py").read_text(encoding="utf-8")
MISTAKES = {
    "any answer is taken for a yes": 'if await ask.confirm("Delete it?"):',
    "await is missing": 'if ask.confirm("Delete it?"):',
    "a decline has no data": 'if (await ask.confirm("Delete it?")).data:',
    "an argument is misspelled": 'if (await ask.confirm("Delete it?", tiemout=3)).action == "accept":',
}
BODY = """from handraise import ask


async def delete() -> str:
    {}
        return "deleted"
    return "kept"
"""
CHECKERS = {
    "mypy": ["mypy", "--strict", "--warn-unreachable", "--cache-dir", os.devnull],
    "pyright": ["pyright", "--pythonpath", sys.executable],
}
pytestmark = pytest.mark.slow


def check(checker: str, folder: Path, programs: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a checker on programs that it finds with nothing of ours around them."""
    paths = [folder / f"program{number}.py" for number in range(len(programs))]
    for path, program in zip(paths, programs, strict=True):
        path.write_text(program, encoding="utf-8")
    (folder / "pyrightconfig.json").write_text(
        f'{{"include": ["."], "extraPaths": ["{ROOT / "src"}"], "typeCheckingMode": "strict"}}'
    )
    # What its functions do inside is checked by `make types`; here their signatures are enough, in a third of the time.
    (folder / "mypy.ini").write_text("[mypy]\n[mypy-handraise.*]\nignore_errors = true\n")
    places = [str(Path(sys.executable).parent), str(PACKAGES / ".bin"), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(places), "MYPYPATH": str(ROOT / "src")}
    command = [*CHECKERS[checker], *(map(str, paths) if checker == "mypy" else ())]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("checker", ["mypy", pytest.param("pyright", marks=pytest.mark.stranger)])
def test_every_answer_has_its_type_and_every_mistake_is_found(checker: str, tmp_path: Path) -> None:
    done = check(checker, tmp_path, [*(BODY.format(line) for line in MISTAKES.values()), TYPED])
    missed = [name for at, name in enumerate(MISTAKES) if f"program{at}.py:" not in done.stdout]
    assert not missed, done.stdout
    assert f"program{len(MISTAKES)}.py" not in done.stdout, done.stdout
