"""Which note is meant, and is it really wanted: in one question, whatever the title matches."""

from __future__ import annotations

from functools import partial

from endings import accepted
from shelf import Note, Shelf

from handraise import Form, ask
from handraise.forms import Choice, Flag

MOST = 50
"""More than a person wants to read through."""

STAYS = "All notes stay as they are."


async def ask_which_one(shelf: Shelf, title: str, do: str, nothing: str) -> Note | str:
    """The note that the person wants something done with, or a sentence that says why there is none.

    One match is confirmed. Several are shown with title, year and path, and chosen and confirmed in one form.
    """
    matches = await shelf.find(title)
    if not matches:
        return f'{nothing} No note is called "{title}". notes_list shows what there is.'
    if len(matches) > MOST:
        return f'{nothing} {len(matches)} notes match "{title}". Ask the person for more of the title.'
    if len(matches) == 1:
        return await _confirm(shelf, matches[0], do, nothing)
    return await _choose(shelf, matches, do, nothing)


async def _confirm(shelf: Shelf, note: Note, do: str, nothing: str) -> Note:
    still = partial(shelf.require_unchanged, note)
    accepted(await ask.confirm(f"{do} {note}?", if_declined=STAYS, still=still), nothing)
    return note


async def _choose(shelf: Shelf, matches: list[Note], do: str, nothing: str) -> Note | str:
    offered = {str(number): note for number, note in enumerate(matches, 1)}
    form = Form.from_fields(
        note=Choice("note", {number: str(note) for number, note in offered.items()}, title="Which note?"),
        confirm=Flag("confirm", title=f"{do} it?"),
    )
    answer = accepted(
        await ask(f"{len(matches)} notes match. {do} which one?", form, if_declined=STAYS), nothing
    )
    if not answer["confirm"]:
        return f"The person chose a note and did not confirm. {nothing}"
    note = offered[answer["note"]]
    await shelf.require_unchanged(note)  # after the choice: only now is it known which one
    return note
