"""Servers of every kind, made when this is loaded: processes that are forked after that have them at once."""

from __future__ import annotations

import logging

from tests.server.kinds.servers import KINDS, made

root = logging.getLogger()
level, handlers = root.level, list(root.handlers)
for kind in KINDS:
    made(kind)
root.setLevel(level)  # a server sets it for its whole process, and others are forked, too
root.handlers[:] = handlers
