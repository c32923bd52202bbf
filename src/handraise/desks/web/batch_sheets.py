"""The pages of a batch: all its questions one below the other, one review of all, and what is left when it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.responses import Response

from handraise.desks.fill import Filled, fill
from handraise.desks.review import ReviewLine, may_leave, review
from handraise.desks.sheet import Sheet, lay_out
from handraise.desks.telling import tell
from handraise.desks.waiting import Waiting
from handraise.desks.web.fields import FieldView, view_fields
from handraise.desks.web.reception import Batch, Reception
from handraise.desks.web.sessions import Session
from handraise.desks.web.sheets import Sheets, agreed_link, as_sent, form_of, mark


@dataclass(frozen=True, slots=True)
class Part:
    """One question of a batch. A link has no `filled`: it is agreed to by itself."""

    handle: str
    waiting: Waiting
    sheet: Sheet
    filled: Filled | None
    fields: tuple[FieldView, ...]

    @property
    def stops(self) -> tuple[str, ...]:
        """Why it may not be sent although it fits: it holds a credential."""
        return () if self.filled is None else tuple(f.reason for f in self.filled.secrets if f.tier == 1)

    @property
    def general(self) -> tuple[str, ...]:
        """What is wrong with no field in particular."""
        return (
            () if self.filled is None else tuple(p.message for p in self.filled.problems if p.field is None)
        )

    @property
    def lines(self) -> tuple[ReviewLine, ...]:
        """What will be sent."""
        form = form_of(self.waiting)
        return () if form is None or self.filled is None else review(form, self.sheet, self.filled)


class BatchSheets:
    """Shows a batch."""

    def __init__(self, reception: Reception, sheets: Sheets, *, now: Callable[[], float]) -> None:
        self._reception = reception
        self._sheets = sheets
        self._now = now

    def ask(
        self,
        session: Session,
        batch: Batch,
        status: int = 200,
        *,
        submitted: bool = False,
        note: str = "",
        block_note: str = "",
    ) -> Response:
        """All that waits, with its fields. What is wrong is told once something was `submitted`."""
        parts = [self._part(waiting, submitted) for waiting in batch.waiting]
        return self._show(
            "batch.html",
            status,
            session,
            batch,
            parts=parts,
            submitted=submitted,
            note=note,
            block_note=block_note,
        )

    def review(self, session: Session, batch: Batch, status: int = 200, *, note: str = "") -> Response:
        """Exactly what will be sent to whom, and the mark by which sending refers to it."""
        parts = [self._part(waiting, submitted=True) for waiting in batch.waiting]
        forms = [part for part in parts if part.filled is not None]
        return self._show(
            "batch_review.html",
            status,
            session,
            batch,
            parts=forms,
            links=len(parts) - len(forms),
            secrets=[found for part in forms if part.filled for found in part.filled.secrets],
            seen=mark_all(self.filled(batch)),
            note=note,
            block_note="",
        )

    def over(self, session: Session, batch: Batch, status: int = 200) -> Response:
        """How all of it ended."""
        return self._sheets.close("batch_ended.html", status, session, ended=self._ended(batch))

    def filled(self, batch: Batch) -> dict[str, Filled]:
        """Every form as it stands, by the id of its question."""
        forms = ((waiting, form_of(waiting)) for waiting in batch.waiting)
        return {
            waiting.id: fill(form, self._sheets.entries(waiting, form))
            for waiting, form in forms
            if form is not None
        }

    def prefix(self, waiting: Waiting) -> str:
        """What the names of a question's fields begin with: the same however many others wait beside it."""
        return f"q{self._reception.handle(waiting)[:12]}-"

    def _part(self, waiting: Waiting, submitted: bool) -> Part:
        form, sheet, handle = form_of(waiting), lay_out(waiting), self._reception.handle(waiting)
        if form is None:
            return Part(handle, waiting, sheet, None, ())
        entries = self._sheets.entries(waiting, form)
        filled = fill(form, entries)
        fields = view_fields(form, sheet.fields, entries, filled if submitted else None, self.prefix(waiting))
        return Part(handle, waiting, sheet, filled, fields)

    def _ended(self, batch: Batch) -> list[dict[str, object]]:
        return [
            {
                "sheet": lay_out(ended.waiting),
                "ending": tell(ended.decision, self._now()),
                "link": agreed_link(ended),
            }
            for ended in batch.ended
        ]

    def _show(self, template: str, status: int, session: Session, batch: Batch, **values: object) -> Response:
        handles = [self._reception.handle(waiting) for waiting in batch.waiting]
        return self._sheets.show(
            template,
            status,
            session,
            batch.waiting,
            handles=" ".join(handles),
            at=f"/{session.place}/b/{batch.handle}",
            ended=self._ended(batch),
            **values,
        )


def all_may_leave(filled: Mapping[str, Filled]) -> bool:
    """Whether there is something to send, and nothing to correct in any of it."""
    return bool(filled) and all(map(may_leave, filled.values()))


def mark_all(filled: Mapping[str, Filled]) -> str:
    """By which sending refers to what a review showed: of which questions, and with what in them."""
    return mark("\n".join(f"{asked} {as_sent(each.content)}" for asked, each in filled.items()))
