"""Every snippet of the README and of the documentation runs, without a warning."""

from __future__ import annotations

import warnings

import pytest
from tests.docs.shell import Shell
from tests.docs.snippets import BadPage, Page, pages, parse_page, run_console, run_python, same_output


def _blocks(language: str) -> list[object]:
    return [
        pytest.param(page, index, id=f"{page.name}:{block.line}")
        for page in pages()
        for index, block in enumerate(page.blocks)
        if block.language == language and page.runs(block)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "index"), _blocks("python"))
def test_a_python_snippet_runs(page: Page, index: int) -> None:
    run_python(page, index)


@pytest.mark.slow
@pytest.mark.xdist_group("documents")
@pytest.mark.parametrize(("page", "index"), _blocks("console"))
def test_a_console_snippet_says_what_the_page_says(page: Page, index: int, shell: Shell) -> None:
    run_console(page, index, shell)


# How the running itself behaves.

WARNS = """
```python
import warnings
warnings.warn("old", DeprecationWarning)
```
"""

CONTINUED = """
```python
from dataclasses import dataclass
@dataclass
class Note:
    title: str
```
Then:
<!-- snippet: continues -->
```python
print(Note("tea").title)
```
<!-- snippet: prints -->
```text
tea
```
"""

CONSOLE = """
<!-- snippet: file hello.py -->
```python
print("one\\ntwo\\nthree")
```
```console
$ python \\
    hello.py
one
...
three
```
"""


def test_a_snippet_that_warns_fails() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning):
            run_python(parse_page("page.md", WARNS), 0)


def test_a_snippet_can_go_on_where_the_one_before_it_stopped() -> None:
    assert run_python(parse_page("page.md", CONTINUED), 1).Note("tea").title == "tea"


def test_a_snippet_that_prints_something_else_fails() -> None:
    with pytest.raises(AssertionError):
        run_python(parse_page("page.md", CONTINUED.replace("text\ntea", "text\ncoffee")), 1)


def test_a_failing_snippet_is_found_at_its_own_line() -> None:
    with pytest.raises(ZeroDivisionError) as failure:
        run_python(parse_page("page.md", "# Title\n\n```python\n1 / 0\n```\n"), 0)
    assert failure.traceback[-1].lineno + 1 == 4


@pytest.mark.slow
def test_console_commands_find_the_files_of_the_page(shell: Shell) -> None:
    run_console(parse_page("page.md", CONSOLE), 1, shell)


@pytest.mark.slow
def test_a_command_that_says_something_else_fails(shell: Shell) -> None:
    with pytest.raises(AssertionError):
        run_console(parse_page("page.md", CONSOLE.replace("\nthree\n```", "\nfour\n```")), 1, shell)


@pytest.mark.slow
def test_a_command_that_ends_with_another_code_fails(shell: Shell) -> None:
    page = parse_page("page.md", "```console\n$ python -c 'raise SystemExit(1)'\n```\n")
    with pytest.raises(AssertionError):
        run_console(page, 0, shell)


@pytest.mark.slow
def test_a_mark_gives_the_code_that_a_command_ends_with(shell: Shell) -> None:
    text = "<!-- snippet: exit 1 -->\n```console\n$ python -c 'raise SystemExit(1)'\n```\n"
    run_console(parse_page("page.md", text), 0, shell)


def test_dots_stand_for_any_lines() -> None:
    assert same_output("a\nb\nc\n", "...\nc\n")
    assert same_output("a\n", "a\n...\n")
    assert not same_output("a\nb\n", "a\n")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```bash\nmake test\n```\n", id="a language that would not be run"),
        pytest.param("```\nsomething\n```\n", id="no language"),
        pytest.param("- a list\n  ```python\n  pass\n  ```\n", id="an indented block"),
        pytest.param("<!-- snippet: not run: -->\n```python\npass\n```\n", id="not run without a reason"),
        pytest.param("<!-- snippet: later -->\n```python\npass\n```\n", id="an unknown mark"),
        pytest.param("<!-- snippet: prints -->\nSome text.\n", id="a mark that is about nothing"),
        pytest.param("```console\n$ npm test\n```\n", id="a command that nothing runs"),
        pytest.param("```text\n$ handraise demo\n```\n", id="a command where none is looked for"),
        pytest.param("Try:\n\n    handraise demo\n", id="a command without a block"),
        pytest.param("~~~console\n$ handraise demo\n~~~\n", id="a block of another kind"),
    ],
)
def test_a_page_that_could_hide_a_snippet_is_refused(text: str) -> None:
    with pytest.raises(BadPage):
        parse_page("page.md", text)
