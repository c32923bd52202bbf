"""What tests of the adapters share with those of the server."""

from __future__ import annotations

from tests.server.conftest import revision

__all__ = ["revision"]
