"""Break behaviours at random, one at a time, and see whether the tests of the package notice.

    python -m tests.mutations --map
    python -m tests.mutations --count 200 --seed 1 --json results.json --minutes 5

The first call runs the tests of every package once and keeps which test runs which line. The second one changes the
source, one place at a time, and takes each change back, because some tests start programs that know no other place. Of
the tests of its package, those that run the changed line run: first the nearest, then the others. A change is noticed
when a test fails or the tests do not end. The last lines are a table by package. Call it again with the same file of
results: it goes on where it ended. Commit nothing from this tree meanwhile: it would be a broken line. Use a worktree.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from coverage import CoverageData
from coverage.exceptions import DataError

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "handraise"
TESTS = ROOT / "tests"
SWAPPED: dict[type[ast.AST], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
OURS = "not client and not soak"
MAP = ROOT / ".mutations"
"""The tests that run each line, as coverage keeps them."""
TESTED_IN = {"sdk/client.py": "client", "sdk/mcp2.py": "server", "sdk/fastmcp4.py": "server"}
"""Modules whose tests are with another package."""
LEFT_OUT = {
    *(
        "testing/stores.py",
        "testing/part_contracts.py",
        "testing/ledgers.py",
    ),  # tests themselves, run on every store
    *("sdk/mcp1.py", "sdk/fastmcp2.py", "sdk/client1.py"),  # tested by `make releases`, on mcp 1.x
}
MOST_SECONDS = 300
"""A step that takes longer counts as tests that do not end."""
MANY = 20
"""More tests than these run in two workers."""


class Mutation(NamedTuple):
    """One change of one module."""

    path: Path
    line: int
    column: int
    start: int
    end: int
    """Offsets in the bytes of the module."""
    new: str
    lines: range
    """The lines of the statement up to the place."""

    @property
    def package(self) -> str:
        """The package that the module belongs to, or the module itself."""
        return self.path.relative_to(PACKAGE).parts[0].removesuffix(".py")

    def applied(self) -> bytes:
        source = self.path.read_bytes()
        return source[: self.start] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        old = self.path.read_bytes()[self.start : self.end].decode()
        return (
            f"{self.path.relative_to(PACKAGE)}:{self.line}:{self.column}: {_short(old)} -> {_short(self.new)}"
        )


def mutations_of(path: Path) -> Iterator[Mutation]:
    """Every change that can be made in a module."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: Any) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def change(statement: ast.stmt, node: Any, new: str) -> Mutation:
        lines = range(statement.lineno, node.end_lineno + 1)
        return Mutation(path, node.lineno, node.col_offset + 1, *place(node), new, lines)

    def text(node: ast.AST) -> str:
        start, end = place(node)
        return source[start:end].decode()

    for function in _functions(ast.parse(source)):
        for statement, node in _nodes(function.body):
            match node:
                case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SWAPPED:
                    yield change(statement, node, f"(({text(left)}) {SWAPPED[type(op)]} ({text(right)}))")
                case ast.BoolOp(op=op, values=values):
                    word = " or " if isinstance(op, ast.And) else " and "
                    yield change(statement, node, f"({word.join(f'({text(each)})' for each in values)})")
                case ast.UnaryOp(op=ast.Not(), operand=operand):
                    yield change(statement, node, f"bool({text(operand)})")
                case ast.Constant(value=bool(value)):
                    yield change(statement, node, str(not value))
                case ast.Constant(value=int(number)):
                    yield change(statement, node, str(number + 1))
                case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                    yield change(statement, node, "return None")
                case ast.Raise() if "NotImplementedError" not in text(node):
                    yield change(statement, node, "pass")
                case ast.Expr(value=ast.Call() | ast.Await() as call) if not _is_idle(text(call)):
                    yield change(statement, node, "pass")


def chosen(count: int, seed: int) -> list[Mutation]:
    """Changes at random; each package has its share by its lines, and at least one."""
    draw = random.Random(seed)
    by_package: dict[str, list[Mutation]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if str(path.relative_to(PACKAGE)) in LEFT_OUT:
            continue
        for mutation in mutations_of(path):
            if tests_of(mutation) is not None:
                by_package.setdefault(mutation.package, []).append(mutation)
    total = sum(map(len, by_package.values()))
    picked = [
        each
        for package, all_ in sorted(by_package.items())
        for each in draw.sample(all_, min(len(all_), max(1, round(count * len(all_) / total))))
    ]
    draw.shuffle(picked)
    return picked[:count]


def tests_of(mutation: Mutation) -> Path | None:
    """The folder or the file with the tests of a module's package."""
    return _tests_of(TESTED_IN.get(str(mutation.path.relative_to(PACKAGE)), mutation.package))


def _tests_of(package: str) -> Path | None:
    return next((path for path in (TESTS / package, TESTS / f"test_{package}.py") if path.exists()), None)


def steps(mutation: Mutation) -> Iterator[list[str]]:
    """The tests of the package that run the changed line, the nearest first."""
    package, module = tests_of(mutation), mutation.path.relative_to(PACKAGE)
    assert package is not None
    known = _map().contexts_by_lineno(str(mutation.path))
    contexts = {
        each for line in mutation.lines for context in known.get(line, ()) for each in context.split("|")
    }
    tests = {re.sub(r"\[.*| \(\w+\)$", "", each, flags=re.DOTALL) for each in contexts}
    own = sorted(each for each in tests if (ROOT / each.partition("::")[0]).is_relative_to(package))
    mirror = f"tests/{module.parent / f'test_{module.name}'}::"
    nearest = [each for each in own if each.startswith(mirror)]
    others = [each for each in own if not each.startswith(mirror)]
    yield from (each for each in (nearest, others) if each)


@cache
def _map() -> CoverageData:
    known = CoverageData(basename=str(MAP / "lines"))
    known.read()
    return known


def make_map() -> None:
    """Run the tests of every package, and keep which test runs which line, in child processes too."""
    MAP.mkdir(exist_ok=True)
    for old in MAP.iterdir():
        old.unlink()
    settings = MAP / "settings.ini"
    settings.write_text(
        "[run]\nsource = handraise\nparallel = True\nsigterm = True\ncontext = ${PYTEST_CURRENT_TEST}\n"
        f"data_file = {MAP / 'part'}\n"
    )
    folders = {str(path) for each in PACKAGE.iterdir() if (path := _tests_of(each.stem)) is not None}
    options = ["-p", "tests.line_contexts", "-n", "3", "--hypothesis-profile", "inner", "-m", OURS]
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, *sorted(folders)],
        cwd=ROOT,
        env={**os.environ, "COVERAGE_PROCESS_START": str(settings)},
        check=False,  # a test that fails because it is slow today still ran its lines
    )
    known = CoverageData(basename=str(MAP / "lines"))
    for part in MAP.glob("part*"):
        data = CoverageData(basename=str(part))
        with contextlib.suppress(DataError):  # a process that was killed leaves half a file
            data.read()
            known.update(data)
        part.unlink()


def noticed_by(mutation: Mutation) -> str | None:
    """The test that noticed the change; None when all passed."""
    before, after = mutation.path.read_bytes(), mutation.applied()
    _write(mutation.path, after)
    try:
        for tests in steps(mutation):
            failed = _first_failure(tests)
            if failed is not None:
                return failed
        return None
    finally:
        _write(mutation.path, before)


_LATER = count(int(time.time()))


def _write(path: Path, source: bytes) -> None:
    """Write a module with a later time than ever before: Python keeps compiled files by second and size."""
    path.write_bytes(source)
    moment = next(_LATER)
    os.utime(path, (moment, moment))


def _first_failure(tests: list[str]) -> str | None:
    """The name of the first test that fails now."""
    workers = ["-n", "2"] if len(tests) > MANY else []
    options = ["-q", "-x", "--tb=no", "-rfE", "--hypothesis-profile", "inner", "--reruns", "1", "-m", OURS]
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *workers, *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            said, _ = running.communicate(timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            return "tests that did not end"
    if running.returncode in {0, 5}:  # 5: no test was chosen
        return None
    lines = said.strip().splitlines() or [f"an exit with {running.returncode}"]
    named = next((line for line in lines if line.startswith(("FAILED ", "ERROR "))), lines[-1])
    return named.removeprefix("FAILED ").removeprefix("ERROR ").split(" - ")[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="how many behaviours to break")
    parser.add_argument("--seed", type=int, default=1, help="the same seed breaks the same behaviours")
    parser.add_argument("--only", nargs="*", default=[], help="only these packages")
    parser.add_argument("--json", type=Path, help="the file of results, which is read first and goes on")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no change after this time")
    parser.add_argument("--map", action="store_true", help="first find out which test runs which line")
    given = parser.parse_args()
    if given.map:
        make_map()
        return
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "src"], cwd=ROOT, check=False).returncode:
        sys.exit(
            "src has changes that are not committed; commit them first, so that no broken line gets lost among them"
        )
    picked = [
        each for each in chosen(given.count, given.seed) if not given.only or each.package in given.only
    ]
    results: list[dict[str, Any]] = []
    if given.json is not None and given.json.exists():
        results = json.loads(given.json.read_text())
    known = {each["change"] for each in results}
    began = time.monotonic()
    for mutation in picked:
        start = time.monotonic()
        if str(mutation) in known or start - began > given.minutes * 60:
            continue
        change, noticed = str(mutation), noticed_by(mutation)
        took = round(time.monotonic() - start)
        results.append({"package": mutation.package, "noticed": noticed, "change": change, "seconds": took})
        print(
            f"[{len(results)}/{len(picked)}] {change}\n    {noticed or 'NOT NOTICED'} ({took} s)", flush=True
        )
        if given.json is not None:
            given.json.write_text(json.dumps(results, indent=1))
    tried: Counter[str] = Counter()
    noticed_in: Counter[str] = Counter()
    for each in results:
        tried[each["package"]] += 1
        noticed_in[each["package"]] += each["noticed"] is not None
    for package in sorted(tried):
        print(f"{package:24} {noticed_in[package]:4} of {tried[package]:4}")
    print(f"{'all':24} {noticed_in.total():4} of {tried.total():4}")


def _functions(module: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The outermost functions of a module, without those for debuggers."""
    waiting: list[ast.AST] = [module]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop(0)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                waiting.append(node)
            elif node.name != "__repr__":
                yield node


def _nodes(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.AST]]:
    """Every node, with the innermost statement that it is in."""
    waiting: list[tuple[ast.stmt, ast.AST]] = [(each, each) for each in body]
    while waiting:
        statement, node = waiting.pop(0)
        yield statement, node
        for child in ast.iter_child_nodes(node):
            waiting.append((child if isinstance(child, ast.stmt) else statement, child))


def _is_idle(call: str) -> bool:
    """Whether leaving a call out changes nothing that a user could see: the log, and a hint to the type checker."""
    return "log" in call[:12] or call.startswith("assert_never(")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


if __name__ == "__main__":
    main()
