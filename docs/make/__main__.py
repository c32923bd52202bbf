"""`python -m docs.make`: write the pages that are made from code, where they changed.

`--check` writes nothing, and ends with 1 when a page is not current.
"""

from __future__ import annotations

import logging
import sys

from docs.make.pages import PAGES, ROOT


def main(words: list[str]) -> int:
    """Write or check every page; the exit status."""
    logging.disable()  # what the servers of the examples say to their own logs
    stale = []
    for name, made in PAGES.items():
        path, text = ROOT / name, made()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in words:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{'not current' if '--check' in words else 'written'}: {name}")
    return 1 if stale and "--check" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
