"""Who asks and who answers, as the ledger names them: without anything that could be a secret."""

from __future__ import annotations

import shlex
from typing import Final
from urllib.parse import urlsplit

from handraise.ledger.events import Principal, Server
from handraise.policy.secrets import scan_answer
from handraise.questions import Origin, Person

_MASK: Final = "…"


def server_of(origin: Origin) -> Server:
    """The server in the user's own words; what it calls itself beside them, as a claim."""
    claims = " ".join(part for part in (origin.claimed_name, origin.claimed_version) if part)
    return Server(origin.name, _target(origin.target) or None, claims or None)


def principal_of(person: Person) -> Principal:
    """The person, and how we know."""
    return Principal(person.issuer, person.subject, person.how)


def _target(target: str) -> str:
    """The origin of a URL, or a command in which what follows an option, or looks like a secret, is masked."""
    if "://" in target:
        parts = urlsplit(target)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    try:
        words = shlex.split(target)
    except ValueError:
        return _MASK
    shown, after_option = [], False
    for at, word in enumerate(words):
        doubtful = after_option or "=" in word or bool(scan_answer({"word": word}))
        shown.append(_MASK if at and doubtful and not word.startswith("--") else word.partition("=")[0])
        after_option = at > 0 and word.startswith("-") and word != "-m"
    return " ".join(shown)
