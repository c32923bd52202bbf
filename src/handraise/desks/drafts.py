"""What was entered so far, as the queue keeps it: an empty text says that a field was left or cleared."""

from __future__ import annotations

from typing import Any

from handraise.desks.fill import Entries, suggest
from handraise.forms import Form


def take_draft(form: Form[Any], draft: Entries) -> Entries:
    """What stands in the fields: the draft if there is one, or else what the server suggests."""
    if not draft:
        return suggest(form)
    empty = {field.name for field in form.fields if field.default == ""}
    return {name: entry for name, entry in draft.items() if entry != "" or name in empty}


def draft_of(form: Form[Any], entries: Entries) -> Entries:
    """A draft to keep. Only where an empty text is itself the suggestion, a cleared field is left out."""
    return {**{field.name: "" for field in form.fields if field.default != ""}, **entries}
