"""Inert text in a terminal, on a line, in HTML and in Markdown."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.display.test_inert_text import HOSTILE, dangerous

from handraise.display import UntrustedText, for_html, for_line, for_markdown, for_terminal


def cells(line: str) -> int:
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in line
    )


class Reader(HTMLParser):
    """What a browser would see of some markup."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs
        self.tags.add(tag)
        self.text += "\n" if tag == "br" else ""

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.shows("D7")
@given(HOSTILE)
def test_a_line_is_one_line(text: str) -> None:
    line = for_line(text)
    assert len(line.splitlines()) <= 1
    assert not any(map(dangerous, line))


def test_an_accent_takes_no_cell_of_its_own_and_stays_with_its_letter() -> None:
    assert for_terminal("e\u0301" * 6, columns=4) == ["e\u0301" * 4, "e\u0301" * 2]


@pytest.mark.shows("D7")
@given(HOSTILE | st.text(alphabet="ab 日本👩", max_size=400), st.integers(2, 80))
def test_no_terminal_line_is_wider_than_allowed_and_none_controls_the_terminal(
    text: str, columns: int
) -> None:
    for line in for_terminal(text, columns=columns):
        assert cells(line) <= columns
        assert not any(map(dangerous, line))


def test_lines_break_at_spaces_where_they_can() -> None:
    assert for_terminal("one two three four", columns=9) == ["one two", "three", "four"]
    assert for_terminal("abcdefghij", columns=4) == ["abcd", "efgh", "ij"]
    assert for_terminal("日本語日本語", columns=5) == ["日本", "語日", "本語"]
    assert for_terminal("one\n\ntwo") == ["one", "", "two"]


@pytest.mark.shows("D7")
@given(HOSTILE | st.text(alphabet="<>&\"'/ab="))
def test_html_is_escaped_and_reads_the_same(text: str) -> None:
    markup = for_html(text)
    reader = Reader(markup)
    assert reader.tags <= {"bdi", "br", "mark"}
    assert reader.text == "\n".join(for_terminal(text))


@pytest.mark.shows("D7")
def test_markup_of_the_other_side_does_nothing() -> None:
    assert for_html("<script>alert(1)</script>") == "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>"
    assert for_html("a\u202eb\nc") == "<bdi>a<mark>⟨U+202E⟩</mark>b<br>c</bdi>"


MARKDOWN = [
    "[click](https://evil.example)",
    "![x](https://evil.example/p.png)",
    "<https://evil.example>",
    "# Heading",
    "**bold**",
    "`code`",
    "```\ncode\n```",
    "    indented",
    "- item",
    "1. item",
    "> quote",
    "a | b\n--|--\n1 | 2",
    "<img src=x>",
    "&lt;b&gt;",
    "[ref]\n\n[ref]: https://evil.example",
    "https://evil.example",
    "www.evil.example",
    "a@evil.example",
    "~~x~~",
    "Title\n=====",
    "---",
    "\\[x](y)",
    "*a*\n_b_",
    "a  \nb",
]


@pytest.mark.shows("D7")
@pytest.mark.parametrize("text", MARKDOWN)
def test_markdown_of_the_other_side_does_nothing(text: str) -> None:
    html = MarkdownIt("gfm-like", {"linkify": False}).render(for_markdown(text))
    assert set(re.findall(r"</?(\w+)", html)) <= {"p", "br"}


def test_markdown_keeps_the_words() -> None:
    assert for_markdown("*a* b") == "\\*a\\* b"
    assert for_markdown("a\nb") == "a\\\nb"


@pytest.mark.shows("D7")
@given(HOSTILE)
def test_however_it_is_printed_it_is_inert(raw: str) -> None:
    text = UntrustedText(raw)
    for printed in (str(text), f"{text}", f"{text:>10}", "%s" % text, repr(text), f"{text!r}"):  # noqa: UP031
        assert not any(map(dangerous, printed))
        assert "\n" not in printed


@pytest.mark.shows("D7")
def test_a_template_that_escapes_gets_safe_markup() -> None:
    assert UntrustedText("<b>\u202e").__html__() == "<bdi>&lt;b&gt;<mark>⟨U+202E⟩</mark></bdi>"


def test_the_text_itself_is_there_for_checking() -> None:
    assert UntrustedText("a\u202e").raw == "a\u202e"
    assert UntrustedText("a") == UntrustedText("a")
    assert UntrustedText("a") != UntrustedText("b")


def test_it_cannot_be_changed_or_joined_by_mistake() -> None:
    text = UntrustedText("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        text.raw = "b"  # type: ignore[misc]
    with pytest.raises(TypeError):
        "x" + text  # type: ignore[operator]
