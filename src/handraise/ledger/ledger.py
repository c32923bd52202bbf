"""`Ledger`: the record of every question, in the tables of a store."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, runtime_checkable

from handraise.calls.ledger_tables import LedgerTables, Record, Snapshot
from handraise.calls.rounds import canonical
from handraise.calls.store import Store
from handraise.errors import HandraiseError, LedgerError, SetupError, StoreError
from handraise.ledger.events import EventContext, LedgerEvent, RequestRecord, parse_event
from handraise.ledger.own_ledger import CheckpointCopy, send_copies
from handraise.ledger.proof import KeyedAuthenticator, LedgerKeys, Note, Tree, parse_notes, tree_of
from handraise.ledger.trail import Keeping, ShownQuestion, Trail, decrypt_content, new_id
from handraise.ledger.verify import ExpectedContent, LedgerVerdict, Verification, VerificationReport
from handraise.policy.places import database_of
from handraise.stores import SqliteStore, named_store

logger = logging.getLogger(__name__)

_AT_ONCE = 2000
"""How many events get their places in one transaction: others wait for it."""


class DelayedTask:
    """Runs work once, some time after the first call. `name` is for the log."""

    def __init__(self, name: str, work: Callable[[], Awaitable[object]], delay: float) -> None:
        self._name = name
        self._work = work
        self._delay = delay
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Task[None] | None = None

    def call(self) -> None:
        """Schedule the work. It uses a timer, so that it does not keep a loop alive."""
        loop = asyncio.get_running_loop()
        if self._timer is None or self._loop is not loop:  # the timer of an ended loop never fires
            self._loop, self._timer = loop, loop.call_later(self._delay, self._start)

    async def stop(self) -> None:
        """Cancel scheduled work, and wait for running work."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)
            self._running = None

    def _start(self) -> None:
        self._timer = None
        self._running = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        try:
            await self._work()
        except HandraiseError:
            logger.exception("%s failed", self._name)


_DELAY: Final = 1.0
"""Seconds until an event that was committed gets its place."""
_PAGE: Final = 500

QuestionFate = Literal["waits", "expired", "ambiguous"]
"""The state of a question whose process ended: it still waits, or how it ended."""


@runtime_checkable
class SigningStore(Protocol):
    """A store that has a key for its ledger."""

    def signing_secrets(self, *, make: bool = True) -> Sequence[bytes]:
        """The ledger's key, and behind it the keys that it had before. With `make` false, nothing if it is lost."""
        ...


def fate_without_store(last: LedgerEvent) -> QuestionFate:
    """The state of a question for a reader without a store. A question in a store is left to the processes that have
    it."""
    return "ambiguous" if last.about.store is None else "waits"


class Ledger:
    """Writes events, gives them their places, signs checkpoints, reads them back.

    Its events are in tables of a store. In the server kit's store they commit with the change that they record.
    """

    def __init__(
        self,
        store: Store,
        *,
        keys: LedgerKeys | SigningStore,
        keeping: Keeping = "none",
        elsewhere: Sequence[CheckpointCopy] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self._keys = keys
        self.authenticator: KeyedAuthenticator = KeyedAuthenticator(lambda: self.keys)
        store.ledger.attach(self.authenticator)
        self.keeping: Keeping = keeping
        self.clock = clock
        self._elsewhere = tuple(elsewhere)
        self._later = DelayedTask("giving events of the ledger their places", self.place, _DELAY)
        self._started = False
        self._soon: set[asyncio.Future[None]] = set()

    @classmethod
    def at(cls, where: str | os.PathLike[str], **options: Any) -> Ledger:
        """The ledger in its own file, with its key in a private file beside it; or at `postgresql://…`."""
        store = named_store(where) if database_of(where) else SqliteStore(Path(where).expanduser())
        return cls.of(store, **options)

    @classmethod
    def of(cls, store: Store, **options: Any) -> Ledger:
        """The ledger in the tables of a store, signed with a key that the store has for it."""
        if not isinstance(store, SigningStore):
            raise SetupError(
                f"a {type(store).__name__} has no key for a ledger; give it one: Ledger(store, keys=LedgerKeys(secret))"
            )
        return cls(store, keys=store, **options)

    @property
    def keys(self) -> LedgerKeys:
        """The ledger's key. It is made when it is first needed."""
        if not isinstance(self._keys, LedgerKeys):
            self._keys = LedgerKeys(*self._keys.signing_secrets())
        return self._keys

    def find_keys(self) -> LedgerKeys | None:
        """The ledger's key for somebody who only reads: None when it is not there, and none is made."""
        if isinstance(self._keys, LedgerKeys):
            return self._keys
        secrets = self._keys.signing_secrets(make=False)
        return LedgerKeys(*secrets) if secrets else None

    def now(self) -> int:
        """The time, in milliseconds since 1970."""
        return int(self.clock() * 1000)

    @property
    def tables(self) -> LedgerTables:
        """Where it is kept."""
        return self.store.ledger

    # Writing.

    def trail(
        self,
        question: str,
        about: EventContext,
        shown: ShownQuestion | None,
        *,
        until: Literal["decided", "used"] = "decided",
        again: bool = False,
    ) -> Trail:
        """The events of a question; see `Trail`."""
        return Trail(question, about, shown, clock=self.clock, keeping=self.keeping, until=until, again=again)

    def new_question(self) -> str:
        """An id for a question that has none."""
        return new_id("q_", self.now())

    def request(self, method: str, target: str | None, arguments: object = None) -> RequestRecord:
        """A call as events name it: its arguments as a digest under the ledger's key."""
        return RequestRecord(
            method, target, None if arguments is None else self.keys.digest(canonical(arguments))[:32]
        )

    async def start(self, judge: Callable[[LedgerEvent], QuestionFate] = fate_without_store) -> int:
        """End the questions that were in flight when their process ended; how many there were.

        `judge` reads the last event of a question and returns its outcome, if one is known. Otherwise it is ambiguous.
        """
        self._started = True
        settled = await self.tables.settle_orphans(lambda body: self._ending(parse_event(body), judge))
        if settled:
            self._later.call()
        return settled

    def record(self, *records: Record) -> Awaitable[None]:
        """Write events. Once that has been awaited they are on disk."""
        if not self._started:
            return self._record_first(records)
        self._later.call()
        return self.tables.record(records)

    async def _record_first(self, records: Sequence[Record]) -> None:
        await self.start()
        await self.record(*records)

    def record_soon(self, *records: Record) -> asyncio.Future[None]:
        """Write events without waiting for the disk, when no decision depends on them. Closing waits."""
        task = asyncio.ensure_future(self.record(*records))
        self._soon.add(task)
        task.add_done_callback(self._recorded)
        return task

    def written(self) -> None:
        """Schedule places for events that were written with another change of the store."""
        self._later.call()

    async def finish(self) -> None:
        """Give the last events their places and sign a checkpoint."""
        await asyncio.gather(*self._soon, return_exceptions=True)
        await self._later.stop()
        if self._started:
            await self._sign_the_end()

    async def aclose(self) -> None:
        """Finish, and close the store."""
        try:
            await self.finish()
        finally:
            await self.store.aclose()

    # The tree.

    async def place(self) -> Tree:
        """Give every event its place; returns the new tree."""
        before = 0
        while True:
            head = await self.tables.place(_AT_ONCE)
            if head.size - before < _AT_ONCE:
                return tree_of(head)
            before = head.size

    async def checkpoint(self) -> tuple[str, list[str]]:
        """Sign the ledger as it is now. Return the note, and the other places that it did not reach."""
        await self.place()
        note = await self.tables.add_note(self.authenticator.checkpoint(self.now()))
        return note, await send_copies(note, self._elsewhere)

    async def notes(self) -> list[Note]:
        """The signed notes in the ledger, in order. Raises `LedgerError` when there is anything else."""
        return [note for text in await self.tables.notes() for note in parse_notes(text)]

    # Reading.

    async def events(self, after: int = 0) -> AsyncIterator[tuple[int, LedgerEvent]]:
        """The events after a number, with their numbers, in order."""
        while rows := await self.tables.rows(after, _PAGE):
            for number, body in rows:
                yield number, _read(number, body)
            after = rows[-1].number

    async def newest(self) -> AsyncIterator[tuple[int, LedgerEvent]]:
        """The events, with their numbers, the newest first."""
        before: int | None = None
        while rows := await self.tables.rows_before(before, _PAGE):
            for number, body in rows:
                yield number, _read(number, body)
            before = rows[-1].number

    async def contents(self, event: LedgerEvent) -> dict[str, str]:
        """The message and the answer of an event, as far as they were kept and not erased."""
        named = {"message": event.message, "answer": event.answer}
        wanted = {name: content for name, content in named.items() if content is not None}
        kept = await self.tables.contents([content.ref for content in wanted.values()]) if wanted else {}
        found = {}
        for name, content in wanted.items():
            if (
                content.ref in kept
                and (plain := decrypt_content(kept[content.ref], content.hash)) is not None
            ):
                found[name] = plain.decode()
        return found

    # The whole ledger. The proof stays.

    async def verify(
        self, given: Sequence[Note] = (), *, progress: Callable[[int, int], None] = lambda done, every: None
    ) -> VerificationReport:
        """Find every change; `given` are checkpoints that were kept elsewhere. Nothing is written.

        With the ledger's key everything is proved. Without it, the records up to the newest given checkpoint are. With
        neither the verdict is `UNPROVEN`.
        """
        verification = Verification(self.find_keys(), given)
        try:
            async with self.tables.snapshot() as snapshot:
                return await _read_through(snapshot, verification, progress)
        except LedgerError as error:
            return verification.unreadable(str(error))

    async def erase(self, which: Callable[[int, LedgerEvent], bool]) -> tuple[int, int]:
        """Erase the contents of these events with their keys: how many events there are, how many contents went.

        Their messages and answers can no longer be recovered by anyone. A signed note names the erased contents, so
        that nobody without the ledger's key can delete contents and call it erasing.
        """
        await self._require_unbroken()
        count, refs = 0, set()
        async for number, event in self.events():
            if which(number, event):
                count += 1
                refs |= {content.ref for content in (event.message, event.answer) if content is not None}
        draft = self.authenticator.erasure(self.now())
        return count, await self.tables.erase(refs, draft) if refs else 0

    async def retain(self, *, since: int) -> int:
        """Remove the events before a time (milliseconds since 1970) and their contents; how many went.

        Their hashes stay in the tree, so that every later event and every checkpoint can still be verified, and a
        signed note says how far they were removed, so that nobody else can remove events and call it that.
        """
        tree = await self.place()
        await self._require_unbroken()
        upto = 0
        async for number, event in self.events():
            if event.time >= since or number > tree.size:
                break
            upto = number
        if upto == 0:
            return 0
        removed = await self._tree_upto(upto)
        return await self.tables.cut(upto, self.authenticator.removal(self.now(), removed))

    async def _require_unbroken(self) -> None:
        """Refuse a broken ledger.

        Otherwise somebody without the key could make a record look old, or like another person's, and have us remove it
        with a signed note.
        """
        if (await self.verify()).verdict is LedgerVerdict.BROKEN:
            raise LedgerError(
                "the ledger is broken, so that its records cannot say what to remove. Nothing was removed. "
                "Run `handraise ledger verify`."
            )

    async def _tree_upto(self, upto: int) -> Tree:
        tree = Tree()
        while tree.size < upto:
            leaves = await self.tables.hashes(tree.size, min(_PAGE, upto - tree.size))
            if not leaves:
                raise LedgerError("places are missing in the tree; run `handraise ledger verify`")
            tree = tree.grown(leaves)
        return tree

    def _recorded(self, task: asyncio.Future[None]) -> None:
        self._soon.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("an event could not be recorded: %s", error)

    async def _sign_the_end(self) -> None:
        tree = await self.place()
        try:
            signed = [note.checkpoint.size for note in await self.notes() if note.checkpoint.word == "at"]
        except LedgerError:
            signed = []  # verification tells of it
        if tree.size and signed[-1:] != [tree.size]:
            await self.checkpoint()

    def _ending(self, last: LedgerEvent, judge: Callable[[LedgerEvent], QuestionFate]) -> Record | None:
        trail = self.trail(last.question, last.about, None, again=True)  # a retry may come to the same end
        trail.asked_at = last.time if last.kind == "asked" else None
        match judge(last):
            case "waits":
                return None
            case "expired":
                return trail.expired()
            case "ambiguous":
                return trail.ambiguous("the process ended while the question was in flight")


def _read(number: int, body: bytes) -> LedgerEvent:
    try:
        return parse_event(body)
    except LedgerError as error:
        raise StoreError(f"record {number} was changed: {error}; run `handraise ledger verify`") from None


async def _read_through(
    snapshot: Snapshot, verification: Verification, progress: Callable[[int, int], None]
) -> VerificationReport:
    async def compare(expected: Sequence[ExpectedContent]) -> None:
        there = await snapshot.contents([content.ref for content in expected]) if expected else {}
        for content in expected:
            verification.read_content(content, there.get(content.ref))

    verification.begin(snapshot)
    async for places in snapshot.places():
        await compare([content for place in places for content in verification.read(place)])
        if places:
            progress(verification.size, max(verification.size, verification.expected_size))
    async for places in snapshot.unplaced():
        await compare([content for place in places for content in verification.read_unplaced(place)])
    return verification.end(await snapshot.count_contents())
