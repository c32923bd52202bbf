"""A value that shows itself to nobody who does not ask for it by name."""

from __future__ import annotations

import hmac
from typing import Final, NoReturn

_HIDDEN: Final = "Secret(•••)"


class Secret:
    """What a person entered on a page. `.reveal()` is the one way to read it.

    Text made of it, in whatever way, says nothing, so that it cannot leave in a log line, an f-string, an
    error or a tool's result by mistake. It cannot be pickled, and is no JSON.
    """

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value

    def reveal(self) -> str:
        """The secret itself. Hand it to what needs it and keep it nowhere."""
        return self.__value

    def __repr__(self) -> str:
        return _HIDDEN

    def __format__(self, spec: str) -> str:
        return _HIDDEN

    # With no `__hash__` beside it, on purpose: a hash would tell equal secrets apart from others.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self.__value.encode(), other.__value.encode())

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Secret is not written down; reveal() it where it is needed")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a Secret is not written down; reveal() it where it is needed")
