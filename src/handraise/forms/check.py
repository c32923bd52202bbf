"""Checking an answer: every problem at once, for a person to read and for a program to sort.

The same check runs at the desk, in the client and in the server. Rules, by name: `content`,
`required`, `unknown_field`, `type`, `min_length`, `max_length`, `format`, `pattern`, `unicode`,
`minimum`, `maximum`, `option`, `min_items`, `max_items`, `unique_items`, and `validator` for what the
author's own type refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf, isfinite, nextafter
from typing import Any, Final, TypeVar

from handraise.forms.form import Form
from handraise.forms.formats import FORMATS
from handraise.forms.values import (
    Problem,
    Rule,
    fits_choice,
    fits_choices,
    fits_flag,
    fits_integer,
    fits_number,
    fits_text,
    is_unicode,
    kind_of,
)

T = TypeVar("T")

FormFinding = tuple[str, str]
"""A rule, and a sentence for the person."""


def check_answer(form: Form[Any], content: object) -> tuple[Problem, ...]:
    """Everything that is wrong with the content of an accepted form; nothing when it is good."""
    problems = _broken_rules(form, content)
    if problems or form.result is None:
        return problems
    return form.take(content)[1]  # type: ignore[arg-type]


def read_answer(form: Form[T], content: object) -> tuple[T | None, tuple[Problem, ...]]:
    """The typed result of the content of an accepted form, or everything that is wrong with it."""
    problems = _broken_rules(form, content)
    return (None, problems) if problems else form.take(content)  # type: ignore[arg-type]


def _broken_rules(form: Form[Any], content: object) -> tuple[Problem, ...]:
    if not isinstance(content, dict):
        return (Problem(None, "content", "The answer must be a JSON object.", kind_of(content)),)
    rules = form.rules
    try:
        for name, value in content.items():
            rule = rules[name]
            if not rule[0](value, rule):
                break
        else:
            if all(map(content.__contains__, form.required)):
                return ()
    except KeyError:  # a field that is unknown
        pass
    return tuple(_explain(form, content))


def _explain(form: Form[Any], content: Mapping[Any, object]) -> Iterator[Problem]:
    for name, rule in form.rules.items():
        if name not in content:
            if name in form.required:
                yield Problem(name, "required", "This field is required.", "absent")
        elif not rule[0](content[name], rule):
            value = content[name]
            for broken, message in _FINDINGS[rule[0]](value, rule):
                yield Problem(name, broken, message, kind_of(value))
    for name, value in content.items():
        if name not in form.rules:
            yield Problem(str(name), "unknown_field", "The form has no such field.", kind_of(value))


def _text(value: object, rule: Rule) -> Iterator[FormFinding]:
    _, schema, low, high, is_format, matches = rule
    if not isinstance(value, str):
        yield "type", "Enter text."
        return
    if len(value) < low:
        yield "min_length", f"Enter at least {_count(low, 'character')}."
    if len(value) > high:
        yield "max_length", f"Enter at most {_count(high, 'character')}."
    if is_format is not None and not is_format(value):
        yield "format", f"Enter {FORMATS[schema['format']].wanted}."
    if not is_unicode(value):
        yield "unicode", "The text contains half a surrogate pair, which is no character."
    elif matches is not None and not matches(value):
        yield "pattern", "The text does not match the pattern that is asked for."


def _number(value: object, rule: Rule) -> Iterator[FormFinding]:
    if type(value) is not int and (type(value) is not float or not isfinite(value)):
        yield "type", "Enter a number."
        return
    yield from _bounds(value, rule)


def _integer(value: object, rule: Rule) -> Iterator[FormFinding]:
    if type(value) is not int and (type(value) is not float or not value.is_integer()):
        yield "type", "Enter a whole number."
        return
    yield from _bounds(value, rule)


def _bounds(value: float, rule: Rule) -> Iterator[FormFinding]:
    _, _, low, high = rule
    if value < low:
        above = exclusive_bound(low, -inf)
        yield "minimum", f"Enter {low} or more." if above is None else f"Enter more than {above}."
    if value > high:
        below = exclusive_bound(high, inf)
        yield "maximum", f"Enter {high} or less." if below is None else f"Enter less than {below}."


def exclusive_bound(bound: float | None, towards: float) -> float | None:
    """The round number that a bound excludes: 0 for the smallest number above 0. None for an ordinary bound.

    The wire has no exclusive bounds, so `gt=0` goes out as the neighbour of 0. Nobody would write that number.
    """
    if not isinstance(bound, float) or bound.is_integer() or not isfinite(bound):
        return None
    neighbour = nextafter(bound, towards)
    if neighbour and len(repr(bound)) - len(repr(neighbour)) <= 6:
        return None
    return int(neighbour) if neighbour.is_integer() else neighbour


def _flag(_value: object, _rule: Rule) -> Iterator[FormFinding]:
    yield "type", "Answer yes or no."


def _choice(value: object, _rule: Rule) -> Iterator[FormFinding]:
    if isinstance(value, str):
        yield "option", "Choose one of the options."
    else:
        yield "type", "Choose one of the options."


def _choices(value: object, rule: Rule) -> Iterator[FormFinding]:
    _, _, options, low, high = rule
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        yield "type", "Choose from the options."
        return
    if not options.keys() >= set(value):
        yield "option", "Choose only from the options."
    if len(value) < low:
        yield "min_items", f"Choose at least {_count(low, 'option')}."
    if len(value) > high:
        yield "max_items", f"Choose at most {_count(high, 'option')}."
    if len(set(value)) != len(value):
        yield "unique_items", "Choose each option at most once."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_FINDINGS: Final[Mapping[Callable[[object, Rule], bool], Callable[[object, Rule], Iterator[FormFinding]]]] = {
    fits_text: _text,
    fits_number: _number,
    fits_integer: _integer,
    fits_flag: _flag,
    fits_choice: _choice,
    fits_choices: _choices,
}
