"""Servers of every kind, made when this is loaded: processes that are forked after that have them at once."""

from __future__ import annotations

from tests.server.kinds.servers import KINDS, made

for kind in KINDS:
    made(kind)
