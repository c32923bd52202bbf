"""Break behaviours at random, one at a time, and see whether the tests of the package notice.

    python -m tests.mutations --count 200 --seed 1

Each change is made in a copy of `src`. The tests of its package run against the copy: first the quick ones, then the
slow ones. A change is noticed when a test fails or the tests do not end. The last lines are a table by package.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "handraise"
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
QUICK_SECONDS, SLOW_SECONDS = 240, 600


class Mutation(NamedTuple):
    """One change of one module."""

    path: Path
    line: int
    start: int
    end: int
    """Offsets in the bytes of the module."""
    new: str

    @property
    def package(self) -> str:
        """The folder of tests that should notice it."""
        parts = self.path.relative_to(PACKAGE).parts
        return parts[0] if len(parts) > 1 else f"test_{parts[0]}"

    def applied(self) -> bytes:
        source = self.path.read_bytes()
        return source[: self.start] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        old = self.path.read_bytes()[self.start : self.end].decode()
        return f"{self.path.relative_to(PACKAGE)}:{self.line}: {_short(old)} -> {_short(self.new)}"


def mutations_of(path: Path) -> Iterator[Mutation]:
    """Every change that can be made in a module."""
    source = path.read_text()
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def change(node: Any, new: str) -> Mutation:
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        return Mutation(path, node.lineno, start, end, new)

    def text(node: ast.AST) -> str:
        return ast.get_source_segment(source, node) or ""

    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or function.name == "__repr__":
            continue
        for node in [each for statement in function.body for each in ast.walk(statement)]:
            match node:
                case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SWAPPED:
                    yield change(node, f"(({text(left)}) {SWAPPED[type(op)]} ({text(right)}))")
                case ast.BoolOp(op=op, values=values):
                    word = " or " if isinstance(op, ast.And) else " and "
                    yield change(node, f"({word.join(f'({text(each)})' for each in values)})")
                case ast.UnaryOp(op=ast.Not(), operand=operand):
                    yield change(node, f"bool({text(operand)})")
                case ast.Constant(value=bool(value)):
                    yield change(node, str(not value))
                case ast.Constant(value=int(number)):
                    yield change(node, str(number + 1))
                case ast.Return(value=ast.expr() as value) if text(value) != "None":
                    yield change(node, "return None")
                case ast.Raise():
                    yield change(node, "pass")
                case ast.Expr(value=ast.Call() | ast.Await() as call) if "log" not in text(call)[:12]:
                    yield change(node, "pass")


def chosen(count: int, seed: int) -> list[Mutation]:
    """Changes at random; each package has its share by its lines, and at least one."""
    draw = random.Random(seed)
    by_package: dict[str, list[Mutation]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for mutation in mutations_of(path):
            if tests_of(mutation.package) is not None:
                by_package.setdefault(mutation.package, []).append(mutation)
    total = sum(map(len, by_package.values()))
    picked = [
        each
        for package, all_ in sorted(by_package.items())
        for each in draw.sample(all_, min(len(all_), max(1, round(count * len(all_) / total))))
    ]
    draw.shuffle(picked)
    return picked[:count]


def tests_of(package: str) -> Path | None:
    path = ROOT / "tests" / package
    return path if path.exists() else None


def is_noticed(mutation: Mutation, copy: Path, workers: int) -> str | None:
    """What noticed the change; None when all tests passed."""
    target = copy / "handraise" / mutation.path.relative_to(PACKAGE)
    target.write_bytes(mutation.applied())
    try:
        for name, marks, seconds in (
            ("quick tests", "not stranger and not slow", QUICK_SECONDS),
            ("slow tests", "slow and not stranger", SLOW_SECONDS),
        ):
            tests = str(tests_of(mutation.package))
            options = ["-q", "-x", "-p", "no:cacheprovider", "-n", str(workers), "-m", marks]
            command = [sys.executable, "-m", "pytest", *options, "--hypothesis-profile", "inner", tests]
            environ = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
            try:
                ended = subprocess.run(
                    command, cwd=ROOT, env=environ, capture_output=True, timeout=seconds, check=False
                )
            except subprocess.TimeoutExpired:
                return f"{name}, which did not end"
            if ended.returncode not in {0, 5}:  # 5: no test was chosen
                return name
        return None
    finally:
        shutil.copy(mutation.path, target)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="how many behaviours to break")
    parser.add_argument("--seed", type=int, default=1, help="the same seed breaks the same behaviours")
    parser.add_argument("--workers", type=int, default=2, help="processes for the tests")
    parser.add_argument("--only", default="", help="only this package")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    given = parser.parse_args()
    picked = [each for each in chosen(given.count, given.seed) if given.only in {"", each.package}]
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(PACKAGE, copy / "handraise", ignore=shutil.ignore_patterns("__pycache__"))
        for number, mutation in enumerate(picked, 1):
            began = time.monotonic()
            noticed = is_noticed(mutation, copy, given.workers)
            took = time.monotonic() - began
            print(
                f"[{number}/{len(picked)}] {noticed or 'NOT NOTICED'} ({took:.0f} s) {mutation}", flush=True
            )
            results.append({"package": mutation.package, "noticed": noticed, "change": str(mutation)})
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


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


if __name__ == "__main__":
    main()
