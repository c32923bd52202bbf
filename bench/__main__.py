"""`python -m bench [PART…]`: run the benchmarks, all of them or the named ones.

A part is a module here with a function `run(bench)`; the figures go to bench/out/PART.json.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from bench.measure import Bench


def parts() -> list[str]:
    """The modules with something to run, found without importing them."""
    return sorted(
        file.stem
        for file in Path(__file__).parent.glob("*.py")
        if "\ndef run(" in file.read_text() and file.stem != "__main__"
    )


def main(wanted: list[str]) -> int:
    """Run the wanted parts; 1 when a bar was missed, 2 when there is no such part."""
    known = parts()
    if unknown := [name for name in wanted if name not in known]:
        print(f"no such part: {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    met = True
    for name in wanted or known:
        bench = Bench(name)
        import_module(f"bench.{name}").run(bench)
        print(f"\nwritten to bench/out/{bench.write().name}")
        met &= bench.met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
