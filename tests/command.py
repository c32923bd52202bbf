"""The command line as tests start it: in a process of its own, from the root of the project."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
HANDRAISE = [sys.executable, "-c", "from handraise.cli import main; main()"]
