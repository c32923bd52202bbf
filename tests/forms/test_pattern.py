from __future__ import annotations

import pytest

from handraise.errors import FormError, WireError
from handraise.forms import Form, Text, check_answer, parse_form
from handraise.forms.pattern import compile_pattern, weigh_pattern
from handraise.revisions import Revision

SEVERAL_WAYS = r"^(\w+\s?)*$|(a+)+b|(x|x?)*y"


def with_pattern(pattern: str) -> dict[str, object]:
    return {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}


@pytest.mark.shows("F2")
@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^abc$", "abc", True),
        ("^abc$", "abc\n", False),
        ("^[A-Z]{2}[0-9]+$", "AB12", True),
        ("^[A-Z]{2}[0-9]+$", "ab12", False),
        (r"^\u0041\/$", "A/", True),
        ("", "", True),
        ("^.$", "😀", True),
    ],
)
def test_a_pattern_is_searched_for_and_its_end_is_the_very_end(pattern: str, text: str, found: bool) -> None:
    assert compile_pattern(pattern)(text) is found


@pytest.mark.shows("F8")
def test_a_pathological_pattern_costs_linear_time() -> None:
    """With the standard library each of these takes longer than anyone waits."""
    form = parse_form(with_pattern(SEVERAL_WAYS), Revision.NOVEMBER_2025)
    assert [problem.rule for problem in check_answer(form, {"x": "a" * 100_000 + "!"})] == ["pattern"]


@pytest.mark.shows("F2")
@pytest.mark.parametrize(
    "pattern",
    ["(?=a)a", "(?!a)b", "(?<=a)b", r"(a)\1", "(", "[z-a]", "(a{1000}){1000}", "*", r"\Z", "(?P=x)"],
)
def test_a_pattern_that_cannot_be_checked_in_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(WireError) as refused:
        parse_form(with_pattern(pattern), Revision.NOVEMBER_2025)
    assert (refused.value.rule, refused.value.field) == ("pattern", "x")
    with pytest.raises(FormError, match=r"^x: This pattern is not supported"):
        Form.by_hand(Text("x", pattern=pattern))


@pytest.mark.shows("F8")
@pytest.mark.parametrize(
    "pattern", ["a" * 2001, "a{60000}", "(a{300}){300}", "(a?){900}a{900}", r"[\w.]{501}", "[" * 60_000]
)
def test_a_pattern_that_is_huge_once_its_repeats_are_written_out_is_refused(pattern: str) -> None:
    """Linear time is the text's length times the pattern's; `a{60000}` takes seconds."""
    with pytest.raises(WireError) as refused:
        parse_form(with_pattern(pattern), Revision.NOVEMBER_2025)
    assert refused.value.rule == "pattern"


@pytest.mark.shows("F8")
def test_all_patterns_of_a_form_count_together() -> None:
    properties = {f"x{n}": {"type": "string", "pattern": f"a{{{n}00}}"} for n in range(1, 8)}
    with pytest.raises(WireError) as refused:
        parse_form({"type": "object", "properties": properties}, Revision.NOVEMBER_2025)
    assert (refused.value.rule, refused.value.field) == ("pattern", "x6")


@pytest.mark.parametrize(
    ("pattern", "weight"),
    [
        ("abc", 3),
        ("a{5}", 5),
        ("a{2,7}", 7),
        ("a{5,}", 5),
        ("a{2}{3}", 6),
        ("(ab){3}", 9),
        ("((a{10}){10}){10}", 1110),
        ("[a-z0-9{5}(]{4}", 4),
        (r"\w{10}", 40),
        (r"[^\d.]{10}", 40),
        (r"\(\{5}", 4),
        ("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}$", 28),
        (")", 1),
        ("(", 0),
        ("{5}", 0),
    ],
)
def test_a_pattern_weighs_what_it_has_when_written_out(pattern: str, weight: int) -> None:
    assert weigh_pattern(pattern) == weight


def test_half_a_surrogate_pair_matches_nothing() -> None:
    assert compile_pattern("^.$")("\ud800") is False
