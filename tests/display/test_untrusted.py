"""Text of the other side does not leak by being printed."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from tests.display.test_inert_text import HOSTILE, dangerous

from handraise.display import UntrustedText


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
