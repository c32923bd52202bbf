"""Whether a value is a good answer to one field. No coercion, no clamping.

Each function takes the value and the field's rule (see `rules`), and answers fast; why a value does
not fit is `check`'s to say.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Final, TypeAlias

Rule: TypeAlias = tuple[Any, ...]
"""`(fits, schema, …)`: the function for the kind, the property it was read from, then the kind's own."""


def fits_text(value: object, rule: Rule) -> bool:
    """Lengths are counted in code points, as JSON Schema has it."""
    if not isinstance(value, str):
        return False
    _, _, low, high, is_format, matches = rule
    return (
        low <= len(value) <= high
        and (is_format is None or is_format(value))
        and (matches is None or matches(value))
        and (value.isascii() or is_unicode(value))
    )


def fits_number(value: object, rule: Rule) -> bool:
    """NaN and the infinities are no JSON numbers; True is no number."""
    if type(value) is int or (type(value) is float and isfinite(value)):
        return bool(rule[2] <= value <= rule[3])
    return False


def fits_integer(value: object, rule: Rule) -> bool:
    """As JSON Schema has it, 2.0 is an integer; True is not."""
    if type(value) is int or (type(value) is float and value.is_integer()):
        return bool(rule[2] <= value <= rule[3])
    return False


def fits_flag(value: object, _rule: Rule) -> bool:
    """1 and "true" are no flags."""
    return value is True or value is False


def fits_choice(value: object, rule: Rule) -> bool:
    """The value of an option, never its title."""
    return isinstance(value, str) and value in rule[2]


def fits_choices(value: object, rule: Rule) -> bool:
    """Values of options, none of them twice."""
    if type(value) is not list:
        return False
    _, _, options, low, high = rule
    try:
        for item in value:
            if item not in options:
                return False
    except TypeError:  # a list or an object among them
        return False
    return low <= len(value) <= high and len(set(value)) == len(value)


NO_UNICODE: Final = (
    "The text contains half a surrogate pair, which is no character; of a file name that is no UTF-8 "
    'send os.fsencode(name).decode(errors="replace").'
)
"""What to tell an author whose text UTF-8 cannot carry."""


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can carry the text: no half surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
