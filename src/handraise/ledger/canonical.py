"""Frozen values as canonical JSON (RFC 8785), and strictly back.

The values of the ledger hold texts, whole numbers within ±2⁵³, and tuples and values of them, under ASCII names.
Within that, sorted keys, no spaces and UTF-8 are all that the RFC asks for; a property test compares it with an
implementation of the whole RFC. Empty values (None, an empty tuple) are left out.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from handraise.errors import LedgerError

T = TypeVar("T")

_SAFE = 2**53 - 1
_encode = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


def dump_plain(plain: Any) -> bytes:
    """One byte string for what `plain_of` returned. Raises `LedgerError` for what has no canonical form."""
    try:
        return _encode(plain).encode()
    except (TypeError, ValueError) as error:
        raise _unwritable(error) from None


def _unwritable(why: object) -> LedgerError:
    return LedgerError(f"this cannot be written to the ledger: {why}")


def parse_value(kind: type[T], data: bytes) -> T:
    """The value that `dump_plain` wrote. Raises `LedgerError` for unknown, missing, doubled or misfit members."""
    try:
        raw = json.loads(
            data.decode(), object_pairs_hook=_object, parse_float=_refuse, parse_constant=_refuse
        )
    except (ValueError, RecursionError) as error:
        raise LedgerError(f"this is no event: {error}") from None
    value: T = _parse(kind, raw, kind.__name__.lower())
    return value


def plain_of(value: Any) -> Any:
    """A value as JSON has it, to be dumped now or as a part of something else."""
    if type(value) is tuple:
        return [plain_of(item) for item in value]
    if isinstance(value, str):
        return value
    if type(value) is int:
        if abs(value) > _SAFE:
            raise _unwritable(f"{value} is too large")
        return value
    plain = {}
    for name in _members(value.__class__):
        part = getattr(value, name)
        if type(part) is str:
            plain[name] = part
        elif part is not None and part != ():
            plain[name] = plain_of(part)
    return plain


@cache
def _members(kind: type[Any]) -> dict[str, tuple[Any, bool]]:
    """The members of a value: their types, and whether they can be left out."""
    if not is_dataclass(kind):
        raise _unwritable(f"a {kind.__name__} is no value of the ledger")
    hints = get_type_hints(kind)
    return {field.name: (hints[field.name], field.default is not MISSING) for field in fields(kind)}


def _parse(kind: Any, raw: Any, place: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        (kind,) = (choice for choice in get_args(kind) if choice is not NoneType)
        return _parse(kind, raw, place)
    if origin is Literal:
        if raw not in get_args(kind):
            raise LedgerError(f"{place} is {raw!r}, not one of {', '.join(map(str, get_args(kind)))}")
        return raw
    if origin is tuple:
        if type(raw) is not list or not raw:
            raise LedgerError(f"{place} is no list of something")
        return tuple(_parse(get_args(kind)[0], item, f"{place}[{at}]") for at, item in enumerate(raw))
    if kind in (str, int):
        if type(raw) is not kind:
            raise LedgerError(f"{place} is no {kind.__name__}")
        return raw
    return _parse_members(kind, raw, place)


def _parse_members(kind: Any, raw: Any, place: str) -> Any:
    if type(raw) is not dict:
        raise LedgerError(f"{place} is no object")
    members = _members(kind)
    if unknown := raw.keys() - members.keys():
        raise LedgerError(f"{place} has the unknown member {min(unknown)!r}")
    given: dict[str, Any] = {}
    for name, (hint, optional) in members.items():
        if name in raw:
            given[name] = _parse(hint, raw[name], f"{place}.{name}")
        elif not optional and NoneType not in get_args(hint):
            raise LedgerError(f"{place} has no {name}")
        elif not optional:
            given[name] = None
    return kind(**given)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a member is there twice")
    return made


def _refuse(number: str) -> Any:
    raise ValueError(f"{number} is no whole number")
