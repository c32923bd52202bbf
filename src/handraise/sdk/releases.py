"""The installed and the supported releases of mcp and FastMCP."""

from __future__ import annotations

import re
from importlib import metadata
from typing import Final, NamedTuple

from handraise.errors import SetupError


class Supported(NamedTuple):
    """The supported releases of a package: from `oldest` to below the major version `below`."""

    oldest: tuple[int, int]
    below: int

    def requirement(self, package: str) -> str:
        """The requirement in pip's syntax."""
        return f"{package}>={self.oldest[0]}.{self.oldest[1]},<{self.below}"


SUPPORTED: Final = {"mcp": Supported((1, 23), 3), "fastmcp": Supported((2, 14), 5)}


def release_of(package: str) -> str | None:
    """The installed release of a package; None when it is not installed."""
    for name in (package, f"{package}-slim"):  # FastMCP's parts may be installed without the whole
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def problem_with(package: str) -> str | None:
    """One sentence about an unsupported release and what is needed; None when the installed release works."""
    supported, found = SUPPORTED[package], release_of(package)
    install = f'pip install "{supported.requirement(package)}"'
    if found is None:
        return f"{package} is not installed, and this needs it: {install}"
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if supported.oldest <= numbers < (supported.below,):
        return None
    oldest = ".".join(map(str, supported.oldest))
    return f"found {package} {found}; Handraise needs {oldest} or newer, below {supported.below}: {install}"


def require_release(package: str) -> int:
    """The major version of a supported installed package; SetupError otherwise."""
    if (problem := problem_with(package)) is not None:
        raise SetupError(problem)
    return int(str(release_of(package)).partition(".")[0])


def generation() -> int:
    """The generation of the installed SDK: 1 for mcp 1.x, 2 for mcp 2.x. SetupError for any other release."""
    return require_release("mcp")
