"""The journal: what a body was told, so that running it again tells it the same."""

from __future__ import annotations

from collections.abc import Container, Iterable
from copy import deepcopy

from handraise.conversation.records import Entry, Json


class Journal:
    """The steps of one conversation.

    While a body replays, each answer is handed out once, and only to the question it was given to. A question that
    differs ends the replay when it is sent: it and everything after it is asked. What sibling tasks ask in the same
    breath comes before that, and may have been answered in another order. `once` results are found by their key.
    """

    __slots__ = ("_differs", "_once", "_replay", "_shown", "_verdicts", "entries")

    def __init__(self, entries: Iterable[Entry] = (), shown: Container[str] = ()) -> None:
        self.entries: list[Entry] = list(entries)
        self._shown = shown
        """The questions, by their keys, that the round asked which brought the last answers."""
        self._differs = False
        self._once: dict[str, Json] = {e.key: e.value for e in self.entries if e.kind == "once"}
        self._replay: list[Entry] = [e for e in self.entries if e.kind in ("answer", "expired")]
        self._verdicts: list[Entry] = [e for e in self.entries if e.kind == "judged"]

    def recall(self, key: str, pin: str) -> Entry | None:
        """How this question ended before, or None when it has to be asked."""
        for at, entry in enumerate(self._replay):
            if entry.key == key and entry.pin == pin:
                del self._replay[at]
                return entry._replace(value=deepcopy(entry.value))  # the body may change what it is given
        # One of the last round that was not answered, or not well, is asked (again), as it would be without a replay.
        left = any(entry.key == key for entry in self._replay)
        self._differs = self._differs or left or key not in self._shown
        return None

    def for_round(self) -> tuple[Entry, ...]:
        """The steps as they are kept with a round that is about to be sent."""
        if self._differs:
            self._forget_answers()
        return tuple(self.entries)

    def remembers(self, key: str, pin: str) -> bool:
        """Whether this question need not be asked."""
        return any(entry.key == key and entry.pin == pin for entry in self._replay)

    def answered(self, key: str, pin: str, value: Json) -> Entry:
        """Write down an answer that just came."""
        entry = Entry("answer", key, pin, deepcopy(value))
        self.entries.append(entry)
        return entry

    def expired(self, key: str, pin: str) -> None:
        """Write down that nobody answered in time: what the body did about it holds when it is run again."""
        self.entries.append(Entry("expired", key, pin, None))

    def verdict(self, pin: str) -> Entry | None:
        """What the author's own code said of an answer before, if it did: the world has changed since."""
        for at, entry in enumerate(self._verdicts):
            if entry.pin == pin:
                return self._verdicts.pop(at)
        return None

    def judged(self, pin: str, reason: str | None) -> Entry:
        """Write down what the author's own code has against an answer."""
        entry = Entry("judged", "", pin, reason)
        self.entries.append(entry)
        return entry

    def has_done(self, key: str) -> bool:
        """Whether the step `key` has run."""
        return key in self._once

    def result_of(self, key: str) -> Json:
        """What the step `key` gave."""
        return self._once[key]

    def done(self, key: str, value: Json) -> Entry:
        """Write down what the step `key` gave."""
        self._once[key] = value
        entry = Entry("once", key, "", value)
        self.entries.append(entry)
        return entry

    def _forget_answers(self) -> None:
        self._differs = False
        stale = set(map(id, (*self._replay, *self._verdicts)))
        self.entries = [e for e in self.entries if id(e) not in stale]
        self._replay.clear()
        self._verdicts.clear()
