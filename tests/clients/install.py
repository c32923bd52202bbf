"""Install the clients of pins.toml, each into a folder of its own: `python -m tests.clients.install [NAME…]`.

A client that cannot be installed does not stop the others. `.clients/installed.json` has the reason for each.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.command import ROOT

CACHE = ROOT / ".clients"
INSTALLED = CACHE / "installed.json"
PATIENCE = 900
_NPM = [
    "npm",
    "install",
    "--ignore-scripts",
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
]


@dataclass(frozen=True, slots=True)
class Pin:
    """A client at one version."""

    name: str
    title: str
    version: str
    note: str = ""
    npm: str = ""
    pypi: str = ""
    python: str = ""
    needs: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where it is installed."""
        return CACHE / f"{self.name}-{self.version}"

    @property
    def modules(self) -> Path:
        """The packages of one from npm."""
        return self.folder / "node_modules"


def load_pins() -> dict[str, Pin]:
    """The clients by name."""
    raw = tomllib.loads((Path(__file__).parent / "pins.toml").read_text(encoding="utf-8"))
    return {name: Pin(name, **{**pin, "needs": tuple(pin.get("needs", ()))}) for name, pin in raw.items()}


def missing() -> dict[str, str]:
    """The clients that are not installed, each with the reason."""
    told = json.loads(INSTALLED.read_text(encoding="utf-8")) if INSTALLED.exists() else {}
    return {
        name: told.get(name) or "make clients has not installed it"
        for name, pin in load_pins().items()
        if not (pin.folder / ".ready").exists()
    }


def main(names: Sequence[str]) -> None:
    """Install these clients, or all of them."""
    CACHE.mkdir(exist_ok=True)
    pins = load_pins()
    told: dict[str, str] = {}
    for name in names or pins:
        pin = pins[name]
        if (pin.folder / ".ready").exists():
            continue
        print(f"installing {name} {pin.version}", flush=True)
        reason = _install(pin)
        if reason:
            told[name] = reason
            print(f"  not installed: {reason}", flush=True)
        else:
            (pin.folder / ".ready").touch()
    INSTALLED.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def _install(pin: Pin) -> str:
    """Why it could not be installed; empty when it was."""
    shutil.rmtree(pin.folder, ignore_errors=True)
    pin.folder.mkdir(parents=True)
    if pin.npm:
        (pin.folder / "package.json").write_text("{}", encoding="utf-8")
        return _run([*_NPM, f"{pin.npm}@{pin.version}", *pin.needs], pin.folder)
    python = _python(pin.python)
    if python is None:
        return f"it needs Python {pin.python} or newer"
    package = f"{pin.pypi}=={pin.version}"
    own = [] if pin.python else ["--editable", f"{ROOT}[web]"]  # the examples in docs/frameworks.md import us
    pip = [
        str(pin.folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    return _run([python, "-m", "venv", str(pin.folder)], ROOT) or _run(
        [*pip, package, *pin.needs, *own], ROOT
    )


def _python(at_least: str) -> str | None:
    """A Python of this version or newer: ours, one on the PATH, or one of pyenv's."""
    wanted = tuple(int(part) for part in at_least.split(".")) if at_least else (3, 11)
    if sys.version_info[:2] >= wanted:
        return sys.executable
    for minor in (14, 13, 12):
        if (3, minor) < wanted:
            break
        found = sorted((Path.home() / ".pyenv" / "versions").glob(f"3.{minor}.*/bin/python3"))
        named = shutil.which(f"python3.{minor}")
        candidates: list[str] = [*([named] if named else ()), *map(str, found)]
        for candidate in candidates:
            if not _run([candidate, "--version"], ROOT):  # pyenv has shims for versions that are not there
                return candidate
    return None


def _run(command: list[str], folder: Path) -> str:
    """Why a command failed, in its last line; empty when it did not."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
    return said[-1] if done.returncode else ""


if __name__ == "__main__":
    main(sys.argv[1:])
