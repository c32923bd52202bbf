"""What was said, kept apart from the event that it was said.

Every content has a key of its own. The event has a hash under that key; the content, if it is kept at all, is
encrypted under it. Without the key neither tells anything: erasing the key erases both, also an answer of which
there are only two and which could otherwise be found out by trying.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Final, Literal, get_args

from handraise.conversation.recorded import Kept
from handraise.errors import LedgerError
from handraise.ledger.events import Content

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Keeping = Literal["none", "message", "fields", "all"]
"""Which contents are kept: nothing, what people were asked, what they answered, or both."""
KEEPINGS: Final[tuple[Keeping, ...]] = get_args(Keeping)

KEY_SIZE: Final = 32
_NONCE: Final = bytes(12)  # a key encrypts one content, once


def keeps(keeping: Keeping, part: Literal["message", "fields"]) -> bool:
    """Whether a part of the contents is kept."""
    return keeping in ("all", part)


def hide(plain: bytes, *, ref: str, key: bytes, keep: bool) -> tuple[str, Kept]:
    """The hash that an event may have of a content, and what is kept beside it."""
    body = _cipher(key).encrypt(_NONCE, plain, ref.encode()) if keep else None
    return _hash(plain, key), Kept(ref, key, body)


def reveal(kept: Kept) -> bytes | None:
    """The content, or None when only its hash is known. Raises `LedgerError` when it was changed."""
    from cryptography.exceptions import InvalidTag

    if kept.body is None:
        return None
    try:
        return _cipher(kept.key).decrypt(_NONCE, kept.body, kept.ref.encode())
    except InvalidTag:
        raise LedgerError(f"the content {kept.ref} was changed") from None


def matches(content: Content, plain: bytes, key: bytes) -> bool:
    """Whether this is what was said."""
    return hmac.compare_digest(content.hash, _hash(plain, key))


def _hash(plain: bytes, key: bytes) -> str:
    return hashlib.blake2b(plain, key=key, digest_size=32).hexdigest()


def _cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(hmac.digest(key, b"handraise/ledger/encrypt", "sha256"))
