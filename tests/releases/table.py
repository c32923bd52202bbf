"""The table that `make releases` ends with: each scenario with each release, read from the results of pytest.

    python -m tests.releases.table FOLDER RELEASE...

`FOLDER/RELEASE/results.xml` is what pytest wrote for a release. A cell has the number of tests that passed, `-` where
the release has nothing to test, or `FAILED`. The status is 1 when a test failed or a release has no results.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

SCENARIOS = {
    "tests.releases.test_scenarios": "server",
    "tests.client.common.test_hosts": "host",
    "tests.client.common.test_mounts": "mount",
    "tests.strangers.conformance.test_conformance": "suite",
}
"""The modules whose tests are a row each, with a word that says what is tested."""
OTHERS = "other tests of the server"


def results(file: Path) -> dict[str, Counter[str]]:
    """The outcomes of each scenario of a release."""
    found: dict[str, Counter[str]] = {}
    for case in ElementTree.parse(file).iter("testcase"):  # noqa: S314 - see above
        told = {child.tag for child in case}
        outcome = "failed" if told & {"failure", "error"} else "skipped" if "skipped" in told else "passed"
        found.setdefault(scenario_of(case.attrib["classname"], case.attrib["name"]), Counter())[outcome] += 1
    return found


def scenario_of(module: str, test: str) -> str:
    """The row of a test: its name as a sentence, without what it was given."""
    if module not in SCENARIOS:
        return OTHERS
    return f"{SCENARIOS[module]}: {test.partition('[')[0].removeprefix('test_').replace('_', ' ')}"


def table(releases: Mapping[str, Mapping[str, Counter[str]]]) -> list[str]:
    """The lines of the table. A column is headed by its release of mcp, and of FastMCP where it has one."""
    rows = sorted({row for found in releases.values() for row in found}, key=lambda row: (row == OTHERS, row))
    packages = [_packages(name) for name in releases]
    lines = [[name, *(each.get(name.lower(), "-") for each in packages)] for name in ("mcp", "FastMCP")]
    lines += [[row, *(_cell(found.get(row)) for found in releases.values())] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            [
                f"{row:{widths[0]}}",
                *(f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True)),
            ]
        )
        for row, *cells in lines
    ]


def _packages(release: str) -> dict[str, str]:
    """What a release installs, with the version of each."""
    return dict(line.split("==") for line in Path(__file__).with_name(f"{release}.txt").read_text().split())


def _cell(outcomes: Counter[str] | None) -> str:
    if outcomes is None or set(outcomes) == {"skipped"}:
        return "-"
    return "FAILED" if outcomes["failed"] else str(outcomes["passed"])


def main(folder: str, *names: str) -> int:
    files = {name: Path(folder, name, "results.xml") for name in names}
    found = {name: results(file) if file.exists() else {} for name, file in files.items()}
    print("\n".join(table(found)))
    missing = [name for name, outcomes in found.items() if not outcomes]
    if missing:
        print("no results:", " ".join(missing))
    return int(bool(missing) or any(each["failed"] for one in found.values() for each in one.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
