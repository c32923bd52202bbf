"""A tool from its function, and names for the code that is proposed."""

from __future__ import annotations
import __future__

import keyword
import sys
from pathlib import Path

import pytest
from tests.design import project

from handraise.design import load_function, tool_of_function
from handraise.design.functions import identifier, identifiers
from handraise.errors import UsageError
from handraise.forms import Choice, Flag, Text

FUTURE = __future__.annotations.compiler_flag


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test makes importable is forgotten after it."""
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_the_signature_gives_the_arguments_and_leaves_the_context_out() -> None:
    subject = tool_of_function(project.delete_note)
    assert (subject.name, subject.description) == ("delete_note", "Delete a note.")
    [title] = subject.arguments
    assert (title.name, title.required, type(title.field)) == ("title", True, Text)


def test_the_decorator_gives_the_name_and_the_hints() -> None:
    subject = tool_of_function(project.tidy)
    assert (subject.name, subject.destructive, subject.read_only) == ("tidy-up", True, None)
    scope, dry = subject.arguments
    assert (type(scope.field), type(dry.field), dry.required) == (Choice, Flag, False)


def test_a_function_that_asks_is_known_to() -> None:
    assert tool_of_function(project.notes_drop).asks
    assert not tool_of_function(project.delete_note).asks


def test_who_calls_it_in_a_loop_is_known() -> None:
    assert tool_of_function(project.remove_one).called_in_loop_by == "remove_several"
    assert tool_of_function(project.remove_several).called_in_loop_by is None


def test_a_function_is_found_by_module_and_by_file(tmp_path: Path) -> None:
    (tmp_path / "design_me.py").write_text("def send(to: str) -> None:\n    'Send it.'\n")
    for target in ("design_me:send", "design_me.py:send"):
        assert load_function(target, tmp_path)("x") is None


@pytest.mark.parametrize(
    "target",
    ["send", ":send", "nowhere_at_all:send", "tests.design.project:NOTES", "tests.design.project:no"],
)
def test_what_is_no_function_is_wrong_use(target: str) -> None:
    with pytest.raises(UsageError):
        load_function(target, Path.cwd())


def test_types_that_only_a_type_checker_sees_count_as_text() -> None:
    space: dict[str, object] = {}
    exec(compile("def send(to: Nowhere, count: int = 1) -> None: ...", "x.py", "exec", FUTURE), space)
    function = space["send"]
    assert callable(function)
    arguments = tool_of_function(function).arguments
    assert [(each.name, each.required, type(each.field)) for each in arguments] == [
        ("to", True, Text),
        ("count", False, Text),
    ]


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "import nowhere_at_all", "def broken(:", "1 / 0"])
def test_a_module_that_cannot_be_imported_is_wrong_use(text: str, tmp_path: Path) -> None:
    name = f"broken_{abs(hash(text))}"
    (tmp_path / f"{name}.py").write_text(text)
    with pytest.raises(UsageError, match="cannot be imported"):
        load_function(f"{name}.py:send", tmp_path)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("title", "title"),
        ("noteTitle", "note_title"),
        ("send-mail", "send_mail"),
        ("from", "from_"),
        ("found", "found_"),
        ("2fast", "fast"),
        ("2from", "from_"),
        ("タイトル", "value"),
        ("߀", "value"),
        ("x(): import os #", "x_import_os"),
    ],
)
def test_a_name_becomes_an_identifier(name: str, made: str) -> None:
    assert identifier(name) == made
    assert made.isidentifier()
    assert not keyword.iskeyword(made)


def test_names_that_would_be_the_same_are_told_apart() -> None:
    assert list(identifiers(["é", "ü", "title", "Title"]).values()) == ["value", "value2", "title", "title2"]
