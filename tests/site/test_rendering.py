"""Text of others is inert in a page, and only files of ours are served."""

from __future__ import annotations

import pytest
from jinja2 import Environment

from handraise.display import UntrustedText
from handraise.site.rendering import StaticFiles, environment, excerpt, line, sentence, whole


def test_text_of_others_cannot_leave_its_place() -> None:
    for show in (line, whole):
        for text in ("<script>\u202ealert(1)</script>", UntrustedText("<b>\u200bx</b>")):
            shown = str(show(text))
            assert "<script" not in shown
            assert "<b>" not in shown
            assert "\u202e" not in shown
            assert "\u200b" not in shown


def test_our_own_words_become_a_sentence() -> None:
    assert sentence("a whole number") == "A whole number."
    assert sentence("Really?") == "Really?"


def test_files_of_all_sites_and_of_one_are_served_and_no_others() -> None:
    files = StaticFiles("handraise.pages")
    for name, kind in (
        ("handraise.css", "text/css"),
        ("icon.svg", "image/svg"),
        ("pages.js", "text/javascript"),
    ):
        found = files.get(name)
        assert found is not None
        assert found.headers["content-type"].startswith(kind)
    for name in ("desk.js", "../__init__.py", "__init__.py", ""):
        assert files.get(name) is None


def test_an_excerpt_runs_paragraphs_together_and_keeps_everything_else_visible() -> None:
    said = "Delete it?\nIf you decline: nothing\u202e happens."
    assert "Delete it? If you decline: nothing" in excerpt(said)
    assert "\u202e" not in excerpt(said)
    assert "U+000A" not in excerpt(said)
    assert "U+000A" in line(said)


def test_a_template_is_compiled_once_for_all_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    environment("handraise.pages", static="").get_template("site.html")
    monkeypatch.delattr(Environment, "_parse")
    environment("handraise.desks.web", static="/static/").get_template("site.html")
