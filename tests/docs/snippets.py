"""The code blocks of a documentation page, and how each of them is run.

    ```python      runs in a module of its own
    ```console     its lines `$ handraise …` and `$ python …` run, and there are no others; what follows one is
                   its output, where a line `...` stands for any lines

An HTML comment right before a block says what is different about it:

    <!-- snippet: continues -->          it goes on in the module of the python block before it
    <!-- snippet: prints -->             it is what the block before it, in python, prints
    <!-- snippet: file NAME -->          it is a file that the page's console blocks find
    <!-- snippet: exit CODE -->          its commands end with this code instead of 0
    <!-- snippet: run by TEST -->        a test of this name runs it: somebody has to type, or to look at a browser
    <!-- snippet: not run: REASON -->    it is not run, and why
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.docs.shell import Shell

ROOT = Path(__file__).parents[2]
RUN = ("handraise ", "python ")
MISNAMED = {"", "py", "python3", "pycon", "bash", "sh", "shell", "zsh"}
VARIES = (r"(?<= in )\d+\.\d+s$", r"(?<=the ticket ')[\w-]+(?=')", r" +$")
"""pytest's time, the gateway's tickets, blanks at the ends of lines."""

_FENCE = re.compile(r"```(?P<language>[\w-]*)$")
_HIDDEN = re.compile(r"(?: {4,}|\t|~~~)\s*(?:\$ |(?:handraise|make|pip|python|npm|npx) )|~~~")
_MARK = re.compile(
    r"<!-- snippet: (continues|prints|file (?P<file>[\w.-]+)|exit (?P<exit>\d+)"
    r"|run by (?P<test>test_\w+)|not run: .+) -->"
)


class BadPage(Exception):
    """A page that its reader, or this module, would misunderstand."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block. `line` is where its text starts; `mark` is what the comment before it says."""

    line: int
    language: str
    text: str
    mark: re.Match[str] | None = None

    def marked(self, word: str) -> bool:
        return self.mark is not None and self.mark[1].startswith(word)

    @property
    def left_out(self) -> bool:
        """Whether it is not run where it stands: by a test of its own, or not at all."""
        return self.marked("run by") or self.marked("not run")


@dataclass(frozen=True, slots=True)
class Page:
    name: str
    blocks: tuple[Block, ...]

    @property
    def files(self) -> dict[str, str]:
        return {b.mark["file"]: b.text for b in self.blocks if b.mark and b.mark["file"]}

    def runs(self, block: Block) -> bool:
        """Whether a block is run for itself: not when it is a file that a console block of the page starts."""
        if block.left_out:
            return False
        name = block.mark["file"] if block.mark else None
        consoles = [each for each in self.blocks if each.language == "console" and not each.left_out]
        return name is None or not any(name in each.text for each in consoles)

    def chain(self, index: int) -> list[Block]:
        """The python blocks that make up the module of this one, in order."""
        block = self.blocks[index]
        if not block.marked("continues"):
            return [block]
        for earlier in range(index - 1, -1, -1):
            if self.blocks[earlier].language == "python" and not self.blocks[earlier].left_out:
                return [*self.chain(earlier), block]
        raise BadPage(f"{self.name}:{block.line}: there is nothing that it could continue")

    def printed(self, index: int) -> str | None:
        """What the block says it prints, if the next one says that."""
        following = self.blocks[index + 1 : index + 2]
        return following[0].text if following and following[0].marked("prints") else None


def pages() -> list[Page]:
    """The README and every page of the documentation."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [parse_page(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def parse_page(name: str, text: str) -> Page:
    return Page(name, tuple(_blocks(name, text.splitlines())))


def _blocks(name: str, lines: list[str]) -> Iterator[Block]:
    mark: re.Match[str] | None = None
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if line.lstrip().startswith("```"):
            fence = _FENCE.match(line)
            if fence is None or fence["language"] in MISNAMED:
                raise BadPage(
                    f"{name}:{position}: a block starts at the margin with ```python, ```console, ```text…"
                )
            end = lines.index("```", position)
            body = "".join(f"{each}\n" for each in lines[position:end])
            block = Block(position + 1, fence["language"], body, mark)
            _require_run(name, block)
            yield block
            position = end + 1
            mark = None
        elif line.startswith("<!-- snippet"):
            mark = _MARK.fullmatch(line)
            if mark is None:
                raise BadPage(f"{name}:{position}: nobody knows this mark, or it has no reason")
        elif _HIDDEN.match(line):
            raise BadPage(f"{name}:{position}: a command stands in a block, where it is found")
        elif line and mark is not None:
            raise BadPage(f"{name}:{position}: the block that the mark before it is about does not follow")


def _require_run(name: str, block: Block) -> None:
    """Refuse a command that would never be run, unless the page says why."""
    run = RUN if block.language == "console" else ()
    idle = [line for line in _prompted(block) if not line.startswith(run)]
    if idle and block.language in ("console", "text") and not block.left_out:
        raise BadPage(f"{name}:{block.line}: nothing runs {idle[0]!r}: mark the block with `run by TEST`")


def _prompted(block: Block) -> list[str]:
    whole = block.text.replace("\\\n", "")
    return [line.removeprefix("$ ") for line in whole.splitlines() if line.startswith("$ ")]


def idle_commands(page: Page) -> Iterator[str]:
    """The commands of blocks that are not run."""
    for block in page.blocks:
        if block.marked("not run"):
            yield from _prompted(block)


def blocks_run_by(test: str) -> list[Block]:
    """The blocks that say that this test runs them."""
    return [block for page in pages() for block in page.blocks if block.mark and block.mark["test"] == test]


def run_python(page: Page, index: int) -> ModuleType:
    """Run a block after what it continues; give back its module. Printed lines are compared."""
    module = ModuleType(f"snippet_{re.sub(r'[^a-z]', '_', page.name.lower())}_{page.blocks[index].line}")
    sys.modules[module.__name__] = module  # where dataclasses and type hints look names up
    printed = io.StringIO()
    for block in page.chain(index):
        printed = io.StringIO()
        source = "\n" * (block.line - 1) + block.text
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(ROOT / page.name), "exec", dont_inherit=True), module.__dict__)
    expected = page.printed(index)
    if expected is not None:
        assert printed.getvalue() == expected, f"it prints:\n{printed.getvalue()}"
    return module


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with the output given for it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        while command.endswith("\\"):
            more, _, output = output.partition("\n")
            command = f"{command[:-1]}{more}"
        yield command, output


def run_console(page: Page, index: int, shell: Shell) -> None:
    """Run a block's commands in a home with the page's files; compare what they say."""
    block = page.blocks[index]
    shell.add_files(page.files)
    code = int(block.mark["exit"]) if block.mark and block.mark["exit"] else 0
    for command, output in commands(block):
        done = shell.run(command)
        assert done.returncode == code, (
            f"{command} ends with {done.returncode}:\n{done.stderr or done.stdout}"
        )
        assert "Traceback" not in done.stderr, done.stderr
        if output:
            assert same_output(done.stdout, output), f"{command} prints:\n{done.stdout}"


def same_output(actual: str, expected: str) -> bool:
    """Whether the output is the expected one, but for what varies and blanks at the ends of lines.

    `...` stands for any lines.
    """
    for pattern in VARIES:
        actual, expected = (re.sub(pattern, "*", text, flags=re.MULTILINE) for text in (actual, expected))
    pieces = re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*".join(re.escape(piece) for piece in pieces), actual) is not None
