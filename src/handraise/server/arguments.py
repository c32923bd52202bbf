"""What an author gives a question, looked at where the question is made. What is wrong is named."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from handraise.errors import UsageError, WireError
from handraise.forms import write_json
from handraise.forms.fits import NO_UNICODE, is_unicode
from handraise.server.refusals import fitting


def require_known(given: Mapping[str, Any], known: type) -> None:
    """Refuse an argument that a question does not take: one that vanished would be a wish that nobody heard."""
    if given and (unknown := given.keys() - known.__annotations__.keys()):
        raise TypeError(
            f"this question takes no argument {min(unknown)!r}; every one takes "
            f"{', '.join((*known.__annotations__, 'fallback'))}, and help(ask) says what each takes besides"
        )


def require_text(name: str, value: object) -> None:
    """Refuse what is no text, or none that UTF-8 can carry: the SDK's stdio server would end at it, with every call."""
    if not isinstance(value, str):
        refuse(name, "text", value)
    if not value.isascii() and not is_unicode(value):
        raise fitting(UsageError(f"{name}: {NO_UNICODE}"))


def require_named(name: str, value: object) -> None:
    """Refuse a name of something that is no text, or empty. None stands for one that is made up."""
    if value is not None:
        require_text(name, value)
        if not value:
            refuse(name, "a name that is not empty", value)


def require_timeout(timeout: object) -> None:
    """Refuse a time limit that no clock can keep: NaN is neither before nor after any other time."""
    if timeout is None:
        return
    if type(timeout) is bool or not isinstance(timeout, int | float) or not 0 < timeout <= sys.float_info.max:
        refuse("timeout", "a number of seconds above 0 (a timedelta has .total_seconds())", timeout)


def require_callable(name: str, value: object) -> None:
    """Refuse a check that cannot be called."""
    if value is not None and not callable(value):
        refuse(name, "a function", value)


def require_json(name: str, value: object) -> None:
    """Refuse what cannot be written as JSON, or not in UTF-8."""
    try:
        write_json(value)
    except WireError as error:
        reason = NO_UNICODE if error.rule == "unicode" else error.message
        raise fitting(UsageError(f"{name}: {reason}")) from None


def refuse(name: str, wanted: str, value: object) -> NoReturn:
    """Say which argument is wrong, and what it takes."""
    raise fitting(UsageError(f"{name} has to be {wanted}, not {value!r}"))
