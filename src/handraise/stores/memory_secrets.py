"""The vault's table in memory."""

from __future__ import annotations

from handraise.disk import Leftover
from handraise.vault.records import SealedSecret


class MemorySecrets:
    """Sealed secrets that go with the process."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], SealedSecret] = {}

    async def put(self, secret: SealedSecret) -> None:
        self._rows[secret.owner, secret.service] = secret

    async def find(self, owner: str, service: str) -> SealedSecret | None:
        return self._rows.get((owner, service))

    async def all(self, owner: str | None = None) -> list[SealedSecret]:
        return [row for key, row in sorted(self._rows.items()) if owner is None or key[0] == owner]

    async def remove(self, owner: str, service: str) -> bool:
        return self._rows.pop((owner, service), None) is not None

    async def purge(self) -> Leftover | None:
        return None

    async def rewrap(self, row: str, *, was: bytes, wrapped: bytes) -> bool:
        for key, secret in self._rows.items():
            if (secret.row, secret.wrapped) == (row, was):
                self._rows[key] = secret._replace(wrapped=wrapped)
                return True
        return False

    def prune(self, now: float) -> int:
        """Delete what has expired; how many went."""
        over = [key for key, secret in self._rows.items() if secret.until is not None and now >= secret.until]
        for key in over:
            del self._rows[key]
        return len(over)

    def clear(self) -> None:
        """Forget everything."""
        self._rows.clear()
