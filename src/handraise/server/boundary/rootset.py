"""Find the root of a path. Whole names are compared, never text prefixes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from handraise.errors import OutsideBoundary, WireError
from handraise.urls import parse_file_uri

Names = tuple[str, ...]
"""The names on the path from a folder to an entry beneath it."""

Named = str | os.PathLike[str]
"""A path, or a `file://` URI."""


@dataclass(frozen=True, slots=True)
class RootFolder:
    """A root: its real path, and the path as it was given."""

    real: Names
    given: Names

    def holds(self, other: RootFolder) -> bool:
        """Whether another root lies in this one."""
        return _starts(other.real, self.real)

    def __str__(self) -> str:
        return "/" + "/".join(self.given)


@dataclass(frozen=True, slots=True)
class RootPath:
    """Something inside a root."""

    root: RootFolder
    names: Names

    @property
    def path(self) -> PurePosixPath:
        """Its absolute path, below the root's path as it was given."""
        return PurePosixPath("/", *self.root.given, *self.names)

    def child(self, name: str) -> RootPath:
        """The entry with this name in it."""
        return RootPath(self.root, (*self.names, name))


@dataclass(frozen=True, slots=True)
class RootSet:
    """A set of roots. Without any, nothing is allowed."""

    folders: tuple[RootFolder, ...] = ()
    unusable: tuple[str, ...] = ()
    """Roots that cannot be used, each with the reason."""

    def __and__(self, other: RootSet) -> RootSet:
        """The intersection: of two nested roots, the inner one."""
        inner = [a if b.holds(a) else b for a in self.folders for b in other.folders if _meet(a, b)]
        return RootSet(tuple(dict.fromkeys(inner)), self.unusable + other.unusable)

    def locate(self, named: Named) -> RootPath:
        """Find the root of a path. `OutsideBoundary` when it is in none, or ambiguous."""
        text = os.fspath(named)
        if not self.folders:
            reasons = "; ".join(("no root is known", *self.unusable))
            raise OutsideBoundary(text, reasons, boundary=())
        try:
            names, absolute = _split_path(text)
        except ValueError as problem:
            raise self.refusal(text, str(problem)) from None
        if not absolute:
            if len(self.folders) > 1:
                raise self.refusal(text, "there are several roots, so it needs a whole path")
            return RootPath(self.folders[0], names)
        inside = [
            (len(start), RootPath(root, names[len(start) :]))
            for root in self.folders
            for start in (root.given, root.real)
            if _starts(names, start)
        ]
        if not inside:
            raise self.refusal(text, "it lies in none of the roots")
        return max(inside, key=lambda found: found[0])[1]

    def covers(self, place: RootPath) -> bool:
        """Whether a path that was located earlier is still inside."""
        whole = place.root.real + place.names
        return any(_starts(whole, root.real) for root in self.folders)

    def refusal(self, path: Named, why: str) -> OutsideBoundary:
        """The error that names the path and the boundary."""
        return OutsideBoundary(os.fspath(path), why, boundary=tuple(map(str, self.folders)))


def adopt_uris(uris: Iterable[str]) -> RootSet:
    """The roots of a client. URIs that are not folders here are unusable."""
    paths: list[PurePosixPath] = []
    refused: list[str] = []
    for uri in uris:
        try:
            paths.append(parse_file_uri(uri))
        except WireError as error:
            refused.append(f"{uri!r} is {error}")
    found = adopt_folders(paths)
    return RootSet(found.folders, (*refused, *found.unusable))


def adopt_folders(paths: Iterable[PurePosixPath | Path]) -> RootSet:
    """The roots of configured folders, as they are in the file system now."""
    folders: list[RootFolder] = []
    unusable: list[str] = []
    for path in paths:
        try:
            real = Path(path).resolve(strict=True)
        except (OSError, RuntimeError):
            unusable.append(f"there is no folder {str(path)!r}")
            continue
        if real.is_dir():
            folders.append(RootFolder(real.parts[1:], path.parts[1:]))
        else:
            unusable.append(f"{str(path)!r} is no folder")
    return RootSet(tuple(dict.fromkeys(folders)), tuple(unusable))


def _split_path(text: str) -> tuple[Names, bool]:
    """The names of a path, and whether it is absolute. Percent signs are decoded only in a URI."""
    if text[:5].lower() == "file:":
        try:
            text = str(parse_file_uri(text))
        except WireError as error:
            raise ValueError(str(error)) from None
    if not text:
        raise ValueError("it is empty")
    if "\0" in text:
        raise ValueError("it holds a null character")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError("it holds characters that no file name has") from None
    names = tuple(name for name in text.split("/") if name not in ("", "."))
    if ".." in names:
        raise ValueError("it holds a .. segment")
    return names, text.startswith("/")


def _starts(names: Names, start: Names) -> bool:
    return names[: len(start)] == start


def _meet(a: RootFolder, b: RootFolder) -> bool:
    return a.holds(b) or b.holds(a)
