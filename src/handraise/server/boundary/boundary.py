"""`Boundary`: the client's roots as the limit for a server's files.

The current roots belong to a connection on the legacy revisions, and to one call on 2026-07-28.
"""

from __future__ import annotations

import errno
import os
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, Literal, Self, TypeVar

import anyio
import anyio.to_thread

from handraise.errors import OutsideBoundary, SetupError
from handraise.sdk.adapter import IncomingRequest
from handraise.sdk.choose import adapter_for
from handraise.server.ask import ask
from handraise.server.boundary.files import Files, FolderEntry, OpenMode, best_opener
from handraise.server.boundary.rootset import Named, RootPath, RootSet, adopt_folders, adopt_uris
from handraise.server.served import ServedCall, current_call

R = TypeVar("R")

_CHANGED: Final = "notifications/roots/list_changed"
_LINKS: Final = {
    errno.ELOOP: "a symbolic link is on the way, and links are not followed",
    errno.EMLINK: "the file has hard links, so it may lie outside as well",
}


_LEFT_OUT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES})


class Boundary:
    """Files for a server's tools, only inside the roots.

    The client's roots are the limit: on the legacy revisions they are read once for a connection and again after its
    notice, on 2026-07-28 once in every call. `folders` are configured roots, for clients that have
    none; with both, a file must lie in both. Without any root nothing is allowed.

    A path is absolute, a `file://` URI or, if there is only one root, relative to it. Symbolic links are not followed.

    `refuse_hard_links`: refuse files with another name, which may be outside.
    """

    def __init__(
        self,
        server: object,
        folders: Iterable[Named] | None = None,
        *,
        refuse_hard_links: bool = False,
    ) -> None:
        self._folders = None if folders is None else [_configured(folder) for folder in folders]
        self._files = Files(best_opener(), refuse_hard_links)
        self._of_calls: weakref.WeakKeyDictionary[ServedCall, Scope] = weakref.WeakKeyDictionary()
        self._of_connections: weakref.WeakSet[Scope] = weakref.WeakSet()
        self._key = f"handraise.boundary.{id(self)}"
        adapter_for(server).on_notice(_CHANGED, self._hear)

    def _hear(self, notice: IncomingRequest | None) -> None:
        """Handle a notice that roots changed: those of its connection, or of all if the connection is unknown."""
        if notice is None:
            for scope in self._of_connections:
                scope.changed()
        elif (known := notice.connection.get(self._key)) is not None:
            known.changed()

    async def roots(self) -> tuple[PurePosixPath, ...]:
        """The current roots."""
        return tuple(PurePosixPath("/", *root.given) for root in (await self._scope().roots()).folders)

    async def refresh(self) -> None:
        """Read the roots again, for example after a long question."""
        self._scope().changed()
        await self._scope().roots()

    async def read(self, path: Named) -> bytes:
        """Everything in a file."""
        return await self._do(path, self._files.read)

    async def read_text(self, path: Named) -> str:
        """Everything in a file, as UTF-8."""
        return (await self.read(path)).decode("utf-8")

    async def write(self, path: Named, data: bytes | str, *, overwrite: bool = True) -> None:
        """Write a file atomically; FileExistsError when it exists, unless `overwrite`."""
        content = data.encode("utf-8") if isinstance(data, str) else data
        await self._do(path, partial(self._files.write, data=content, overwrite=overwrite))

    async def open(self, path: Named, mode: OpenMode = "r") -> Handle:
        """An open file, in bytes. It stops working when its root goes; on 2026-07-28, also when the call ends."""
        call, scope = current_call(), self._scope()
        roots = await scope.roots()
        place = self._located(roots, path)
        descriptor = await self._run(roots, path, partial(self._files.open, place, mode))
        return Handle(descriptor, place, partial(self._require_inside, call, scope))

    async def list(self, path: Named = ".") -> tuple[FolderEntry, ...]:
        """The entries of a folder, by name."""
        return await self._do(path, self._files.list)

    async def stat(self, path: Named) -> FolderEntry:
        """The kind of an entry: a file, a folder, or a link, which is not followed."""
        return await self._do(path, self._files.stat)

    async def rename(self, path: Named, to: Named, *, overwrite: bool = False) -> None:
        """Move a file or folder; both ends lie inside.

        FileExistsError when there is something at `to` already, an empty folder included, unless `overwrite`.
        """
        roots = await self._scope().roots()
        place, target = self._located(roots, path), self._located(roots, to)
        work = partial(self._files.rename, place, target, overwrite=overwrite)
        await self._run(roots, path, work, to=to)

    async def remove(self, path: Named) -> None:
        """Remove a file, a link itself, or an empty folder."""
        await self._do(path, self._files.remove)

    async def mkdir(self, path: Named) -> None:
        """Make a folder, in one that exists."""
        await self._do(path, self._files.mkdir)

    async def walk(self, path: Named | None = None) -> AsyncIterator[FolderEntry]:
        """Everything beneath a folder, or in the whole boundary. What goes or
        becomes a link meanwhile is left out."""
        for start in await self.roots() if path is None else (path,):
            pending = [*reversed(await self.list(start))]
            while pending:
                entry = pending.pop()
                yield entry
                if entry.kind == "folder":
                    pending.extend(reversed(await self._list_if_there(entry.path)))

    async def _list_if_there(self, path: Named) -> tuple[FolderEntry, ...]:
        place = self._located(await self._scope().roots(), path)
        try:
            return await anyio.to_thread.run_sync(self._files.list, place)
        except OSError as error:
            if error.errno in _LEFT_OUT:
                return ()
            raise

    def _scope(self) -> Scope:
        call = current_call()
        if call.revision.modern:
            if (scope := self._of_calls.get(call)) is None:
                scope = self._of_calls[call] = Scope(self._configuration)
            return scope
        kept: dict[str, Scope] = call.request.connection
        scope = kept.setdefault(self._key, Scope(self._configuration))
        self._of_connections.add(scope)
        return scope

    def _configuration(self) -> RootSet | None:
        return None if self._folders is None else adopt_folders(self._folders)

    async def _do(self, path: Named, work: Callable[[RootPath], R]) -> R:
        roots = await self._scope().roots()
        return await self._run(roots, path, partial(work, self._located(roots, path)))

    def _located(self, roots: RootSet, path: Named) -> RootPath:
        try:
            return roots.locate(path)
        except OutsideBoundary as error:
            raise current_call().raisable(error) from None

    async def _run(self, roots: RootSet, path: Named, work: Callable[[], R], *, to: Named | None = None) -> R:
        """Run work in a thread. Its errors name the paths as the caller gave them."""
        try:
            return await anyio.to_thread.run_sync(work)
        except OSError as error:
            if (why := _LINKS.get(error.errno or 0)) is not None:
                named = path if to is None else f"{path} -> {to}"
                raise current_call().raisable(roots.refusal(named, why)) from None
            ends = () if to is None else (None, str(to))  # the second is for Windows
            raise OSError(error.errno, error.strerror, str(path), *ends) from None

    async def _require_inside(self, call: ServedCall, scope: Scope, place: RootPath) -> None:
        if call.revision.modern and not (call.state != "over" and current_call() is call):
            error = RootSet().refusal(place.path, "the call whose roots it lay in is over")
            raise current_call().raisable(error)
        roots = await scope.roots()
        if not roots.covers(place):
            error = roots.refusal(place.path, "its root went while the file was open")
            raise current_call().raisable(error)


def _configured(folder: Named) -> Path:
    path = Path(folder).expanduser()
    if not path.is_absolute():
        raise SetupError(
            f"a boundary needs whole paths; {str(folder)!r} depends on where the server was started"
        )
    return path


Check = Callable[[RootPath], Awaitable[None]]
"""Raises `OutsideBoundary` when the file is no longer inside."""

_CHUNK = 1 << 20


class Handle:
    """An open file inside the boundary. Every use first checks that it is still inside."""

    def __init__(self, descriptor: int, place: RootPath, check: Check) -> None:
        self._descriptor: int | None = descriptor
        self._place = place
        self._check = check

    async def read(self, size: int = -1) -> bytes:
        """The next bytes; without a size, the rest."""
        descriptor = await self._held()
        if size >= 0:
            return await anyio.to_thread.run_sync(os.read, descriptor, size)
        chunks = []
        while chunk := await anyio.to_thread.run_sync(os.read, descriptor, _CHUNK):
            chunks.append(chunk)
            await self._held()
        return b"".join(chunks)

    async def write(self, data: bytes) -> None:
        """Write all of this."""
        left = memoryview(data)
        while left:
            descriptor = await self._held()
            left = left[await anyio.to_thread.run_sync(os.write, descriptor, left[:_CHUNK]) :]

    async def seek(self, offset: int, whence: Literal[0, 1, 2] = os.SEEK_SET) -> int:
        """Go to another place in the file."""
        return os.lseek(await self._held(), offset, whence)

    @property
    def closed(self) -> bool:
        """Whether it was closed, by its user or because its root went."""
        return self._descriptor is None

    async def aclose(self) -> None:
        """Close the file. Closing it twice does no harm."""
        self._close()

    async def _held(self) -> int:
        if self._descriptor is None:
            raise ValueError("the file is closed")
        try:
            await self._check(self._place)
        except BaseException:
            self._close()
            raise
        if self._descriptor is None:
            raise ValueError("the file is closed")
        return self._descriptor

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()

    def __del__(self) -> None:
        self._close()


Configured = Callable[[], RootSet | None]
"""Returns the configured roots; None when none are configured."""

_TRIES = 5


class Scope:
    """The roots of one client, read when they are needed and again after a notice that they changed.

    A new set replaces the old one in a single assignment, so no operation sees a mixture.
    """

    def __init__(self, configured: Configured) -> None:
        self._configured = configured
        self._lock = anyio.Lock()
        self._known: RootSet | None = None
        self._notices = 0

    def changed(self) -> None:
        """Forget the roots, because the client said that they changed."""
        self._notices += 1
        self._known = None

    async def roots(self) -> RootSet:
        """The current roots. Files that were opened under other roots stop working."""
        known = self._known
        if known is not None:
            return known
        async with self._lock:
            if self._known is None:
                self._known = known = await self._read()
                return known
            return self._known

    async def _read(self) -> RootSet:
        """Ask the client; again if the roots change meanwhile."""
        for _ in range(_TRIES):
            heard, roots = self._notices, await self._ask()
            if heard == self._notices:
                return roots
        return RootSet(unusable=("the client's roots kept changing while they were read",))

    async def _ask(self) -> RootSet:
        configured = self._configured()
        if not current_call().can("roots"):
            return configured or RootSet(unusable=("the client has no roots and the server configures none",))
        named = adopt_uris(root.uri for root in await ask.roots())
        return named if configured is None else named & configured
