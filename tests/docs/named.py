"""The commands that a page names without running them: in its sentences, in configurations, in blocks of examples."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

from tests.docs.snippets import ROOT, Block, Page

PROGRAM = r"(?:handraise|make|pip install|python|mcpdo)"
_IN_A_SENTENCE = re.compile(r"`((?:handraise|make|pip install|python -m|mcpdo|np[mx]|uvx?|docker) [^`]+)`")
_TYPED = re.compile(rf"(?:export )?(?:[A-Z_]+=\S+ |[A-Z_]+=\"[^\"]*\" |[A-Z_]+=\$\()?{PROGRAM} ")


def named_commands(page: Page) -> Iterator[str]:
    """What a page tells its reader to run, without what stands at a prompt in a block."""
    text = (ROOT / page.name).read_text(encoding="utf-8")
    prose = re.sub(r"(?ms)^```.*?^```$|<!--.*?-->", "", text)
    yield from (" ".join(found.split()) for found in _IN_A_SENTENCE.findall(prose))
    for block in page.blocks:
        if block.language == "text" and not block.marked("prints"):
            yield from _examples(block)
        if block.language == "json":
            yield from _configured(json.loads(block.text))


def _examples(block: Block) -> Iterator[str]:
    """The lines that are commands, each without what is said about it; one may go on in the next line."""
    lines = iter(re.sub(r" *\\\n *", " ", block.text).splitlines())
    for line in lines:
        if _TYPED.match(line) and "[OPTIONS]" not in line:
            line = re.split(r" {2,}", line)[0]
            while line.count("'") % 2:
                line += next(lines)
            yield line


def _configured(value: Any) -> Iterator[str]:
    """The commands of a client's configuration."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _configured(each)
    if isinstance(value, dict) and isinstance(value.get("args"), list):
        yield shlex.join([value["command"], *value["args"]])
