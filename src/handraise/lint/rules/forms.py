"""Rules about what a form asks for."""

from __future__ import annotations

from collections.abc import Iterator

from handraise.errors import FormError
from handraise.forms import Field, Flag, Form, Number, Text
from handraise.lint.finding import Mark, Rule
from handraise.lint.sites import Site, sites
from handraise.lint.source import Source
from handraise.lint.texts import written_text
from handraise.lint.written_forms import WrittenField, WrittenForm, written_form
from handraise.policy.secrets import judge_form


def written_forms(source: Source) -> Iterator[tuple[Site, WrittenForm]]:
    """Every question whose form can be read."""
    for site in sites(source):
        if (form := written_form(source, site)) is not None:
            yield site, form


def as_form(written: WrittenForm) -> Form[object]:
    """The readable part of a written form, as the detector wants it."""
    return Form.by_hand(*(field for each in written.fields if (field := _as_field(each)) is not None))


def _as_field(field: WrittenField) -> Field | None:
    makers = {"text": Text, "number": Number, "flag": Flag}
    maker = makers.get(field.kind)
    try:
        made = None if maker is None else maker(field.name, title=field.title, description=field.description)
        Form.by_hand(*([made] if made else []))
    except FormError:
        return None
    return made


def _secrets(source: Source) -> Iterator[Mark]:
    for site, form in written_forms(source):
        places = {field.name: field.node for field in form.fields}
        for field in form.fields:
            if field.kind == "secret":
                yield field.node, f"The field {field.name!r} asks for a secret."
        for found in judge_form(written_text(source, site.message) or "", as_form(form)):
            yield places.get(found.field or "", site.node), found.reason


def _nested(source: Source) -> Iterator[Mark]:
    for _, form in written_forms(source):
        for field in form.fields:
            if field.kind == "nested":
                yield field.node, f"The field {field.name!r} is no single value, and a form is flat."


def _empty(source: Source) -> Iterator[Mark]:
    for site, form in written_forms(source):
        if not form.fields:
            yield site.node, "This form has no fields."


RULES = (
    Rule(
        code="HR101",
        title="secret in a form",
        sentence="A form asks for a password, key, token, card, or national id.",
        why=(
            "A form's answer travels through the client and may reach the model and its logs. The protocol "
            "forbids servers to ask for secrets this way, and Handraise refuses to send the question."
        ),
        mend="Ask for it on a page of your own, in URL mode, with `ask.secret`.",
        wrong="""
async def connect() -> str:
    key = (await ask.text("Paste your API key")).or_stop()
    return sync_with(key)
""",
        right="""
async def connect() -> str:
    key = (await ask.secret("API key", service="sync")).or_stop()
    return sync_with(key)
""",
        check=_secrets,
    ),
    Rule(
        code="HR102",
        title="nested form",
        sentence="A field of a form is an object, a free list or anything else that is no single value.",
        why="Forms are flat on every revision. Clients cannot show such a field, and Handraise refuses the form.",
        mend="Give each part a field of its own, offer options to choose from, or ask a second question.",
        wrong="""
class Place(BaseModel):
    city: str

class Trip(BaseModel):
    place: Place

async def plan() -> str:
    trip = (await ask("Where to?", Trip)).or_stop()
    return trip.place.city
""",
        right="""
class Trip(BaseModel):
    city: str = Field(max_length=80)

async def plan() -> str:
    trip = (await ask("Where to?", Trip)).or_stop()
    return trip.city
""",
        check=_nested,
    ),
    Rule(
        code="HR103",
        title="empty form",
        sentence="A form has no fields.",
        why="Some clients hang on a form without fields, and others accept it without showing anything.",
        mend="Ask for one yes or no: `ask.confirm`.",
        wrong="""
class Nothing(BaseModel):
    pass

async def archive(folder: str) -> str:
    (await ask(f"Archive {folder}?", Nothing)).or_stop()
    return "Archived."
""",
        right="""
async def archive(folder: str) -> str:
    (await ask.confirm(f"Archive {folder}?")).or_stop()
    return "Archived."
""",
        check=_empty,
    ),
)
