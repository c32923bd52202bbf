"""Mask secrets in a message before it is shown in a trace.

Masked are values that look like secrets, values with a telling name, answers to fields that asked for a secret (and
later values with the same name), and credentials: parameters of links, `requestState`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from handraise.errors import FormError, WireError
from handraise.forms import Form, Text
from handraise.questions import FormQuestion
from handraise.revisions import Revision
from handraise.secrets import judge_form, scan_answer
from handraise.wire import parse_question

GONE: Final = "…"

_LINK: Final = re.compile(r"(?i)\b[a-z][a-z0-9+.-]{1,30}://[^\s\"<>]+")
_RANDOM: Final = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_~-]{20,}(?=/|$)")


def mask_links(text: str) -> str:
    """The text with the parameters of its links masked."""
    return _LINK.sub(lambda found: _masked_link(found[0]), text) if "://" in text else text


def _masked_link(link: str) -> str:
    scheme, _, rest = link.partition("://")
    rest, hash_mark, _fragment = rest.partition("#")
    rest, question_mark, query = rest.partition("?")
    host, slash, path = rest.partition("/")
    _userinfo, at, host = host.rpartition("@")
    named = "&".join(map(_without_value, query.split("&")))
    return "".join(
        (
            f"{scheme}://",
            f"{GONE}@" if at else "",
            host,
            slash + _RANDOM.sub(GONE, path),
            question_mark + named,
            f"#{GONE}" if hash_mark else "",
        )
    )


def _without_value(parameter: str) -> str:
    """A parameter with its value gone. One without a name is a value."""
    name, equals, _value = parameter.partition("=")
    return f"{name}={GONE}" if equals else (GONE if parameter else "")


MAX_TEXT: Final = 2000
"""Characters of one text that are shown."""

MAX_DEPTH: Final = 24

_SHORTENED: Final = frozenset({"requestState"})
_PROTOCOL: Final = frozenset(
    {"progressToken", "nextCursor", "cursor", "method", "jsonrpc", "id", "protocolVersion"}
)
"""Names of the protocol's own that say nothing about a secret."""

_MAX_NAMES: Final = 1000


class Masks:
    """Masks the messages of one connection, in the order in which they cross. Texts above `longest` are cut.

    `by_words`: of a text, only the words that are a secret by themselves are masked, if no secret is left then.
    Somebody who is asked about a call needs that. The attack: a key at the end of a command hides the whole command.
    """

    def __init__(self, *, longest: int = MAX_TEXT, by_words: bool = False) -> None:
        self._longest = longest
        self._by_words = by_words
        self._asked_for: dict[str, str] = {}

    def mask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """A copy that may be shown."""
        for question in _questions(message):
            self._note(question)
        return {_key(name): self._value(name, value, 1) for name, value in message.items()}

    def _note(self, params: Mapping[str, Any]) -> None:
        """Remember which fields ask for a secret; in a question that cannot be read, all of them do."""
        for name, kind in _secret_fields(params).items():
            if len(self._asked_for) < _MAX_NAMES:
                self._asked_for[name] = kind

    def _value(self, name: str, value: Any, depth: int) -> Any:
        match value:
            case dict() | list() if depth >= MAX_DEPTH:
                return f"{GONE} (too deep to be shown)"
            case dict():
                return {_key(key): self._value(key, each, depth + 1) for key, each in value.items()}
            case list():
                return [self._value(name, each, depth + 1) for each in value]
            case str() if name in _SHORTENED:
                return f"{value[:8]}{GONE} ({len(value)} characters)"
            case bool() | None:
                return value
            case str() | int() | float():
                return self._plain(name, value)
        return self._plain(name, str(value))  # no plain data: it is shown as this text

    def _plain(self, name: str, value: str | int | float) -> str | int | float:
        if name in _PROTOCOL:
            return value
        if (kind := self._asked_for.get(name) or _named_secret(name)) is not None:
            return _masked(kind)
        found = scan_answer({name: value})
        if found:
            words = _masked_words(name, value) if self._by_words and isinstance(value, str) else None
            return _masked(found[0].kind) if words is None else _cut(mask_links(words), self._longest)
        return _cut(mask_links(value), self._longest) if isinstance(value, str) else value


def _masked(kind: str) -> str:
    return f"[masked: {kind.replace('_', ' ')}]"


def _masked_words(name: str, text: str) -> str | None:
    """The text without the words that are secrets by themselves; None if a secret is left in it."""
    words = (
        _masked(found[0].kind) if (found := scan_answer({name: word})) else word
        for word in _BLANKS.split(text)
    )
    shown = "".join(words)
    return None if scan_answer({name: shown}) else shown


_BLANKS: Final = re.compile(r"(\s+)")


def _key(name: str) -> str:
    """Names come from the other side as well."""
    return _masked("secret") if scan_answer({"name": name}) else _cut(name)


def _cut(text: str, longest: int = MAX_TEXT) -> str:
    return text if len(text) <= longest else f"{text[:longest]}{GONE} ({len(text)} characters)"


@lru_cache(2048)
def _named_secret(name: str) -> str | None:
    """The kind of secret that a value of this name would be."""
    try:
        findings = judge_form("", Form.by_hand(Text(name)))
    except FormError:
        return None
    return next((finding.kind for finding in findings if finding.tier == 1), None)


def _questions(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The forms that a message asks somebody to fill in."""
    if message.get("method") == "elicitation/create":
        yield _mapping(message.get("params"))
    requests = _mapping(_mapping(message.get("result")).get("inputRequests"))
    for request in requests.values():
        if _mapping(request).get("method") == "elicitation/create":
            yield _mapping(_mapping(request).get("params"))


def _secret_fields(params: Mapping[str, Any]) -> dict[str, str]:
    try:
        question = parse_question({**params}, Revision.NOVEMBER_2025)
    except WireError:
        properties = _mapping(_mapping(params.get("requestedSchema")).get("properties"))
        return dict.fromkeys(properties, "an answer to a question that cannot be read")
    if not isinstance(question, FormQuestion):
        return {}
    findings = judge_form(question.message, question.form)
    named = {finding.field: finding.kind for finding in findings if finding.field is not None}
    if any(finding.field is None for finding in findings):  # the message asks for it, wherever it is typed
        return {field.name: named.get(field.name, "secret") for field in question.form.fields}
    return named


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
