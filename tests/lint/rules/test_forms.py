"""What a form asks for: secrets, nesting, nothing at all."""

from __future__ import annotations

import pytest
from tests.lint.found import codes

FIRES = {
    "a password in a text question": ("HR101", 'x = (await ask.text("Your password?")).or_stop()'),
    "a name for ask": (
        "HR101",
        'from handraise import ask as please\nx = (await please.text("Your password?")).or_stop()',
    ),
    "a message built in two steps": (
        "HR101",
        'words = f"Dear {name}, type " + "your PIN"\nx = (await ask.text(words)).or_stop()',
    ),
    "a field by hand": (
        "HR101",
        'x = (await ask("Sign in", Form.by_hand(Text("pw", title="Passwort")))).or_stop()',
    ),
    "keyword fields": (
        "HR101",
        'x = (await ask("Sign in", Form.from_fields(user=str, api_key=str))).or_stop()',
    ),
    "a description in Annotated": (
        "HR101",
        'class A(TypedDict):\n    code: Annotated[str, Field(description="The one-time code we sent you")]\n'
        'x = (await ask("Sign in", A)).or_stop()',
    ),
    "an inherited field": (
        "HR101",
        "class A(BaseModel):\n    password: str\nclass B(A):\n    age: int\n"
        'x = (await ask("You", B)).or_stop()',
    ),
    "a dict": ("HR102", 'class A(BaseModel):\n    a: dict[str, str]\nx = (await ask("You", A)).or_stop()'),
    "an optional model in quotes": (
        "HR102",
        'class P(BaseModel):\n    a: int\nclass A(BaseModel):\n    p: "P | None" = None\n'
        'x = (await ask("You", A)).or_stop()',
    ),
    "a schema with an object": (
        "HR102",
        'ElicitRequestFormParams(message="m", requested_schema={"properties": {"a": {"type": "object"}}})',
    ),
    "a schema where a type belongs": (
        "HR101",
        'ElicitRequestFormParams(message="m", requested_schema={"properties": {"password": {"type": "string"}}})',
    ),
    "a schema without properties": (
        "HR103",
        'ElicitRequestFormParams(message="m", requested_schema={"properties": {}})',
    ),
    "no fields by hand": ("HR103", 'x = (await ask("Go?", Form.by_hand())).or_stop()'),
}

SILENT = {
    "a token budget": 'x = (await ask.number("Token budget?")).or_stop()',
    "somebody else's ask": 'def ask(words): ...\nask("Your password?", None)',
    "a secret on a page": 'x = (await ask.secret("Your password")).or_stop()',
    "a choice about passwords": 'x = (await ask.choose("Reset whose password?", people)).or_stop()',
    "a form from another file": 'from forms import Login\nx = (await ask("Sign in", Login)).or_stop()',
    "flat fields of every kind": (
        "class Colour(StrEnum):\n    RED = 'red'\n"
        "class A(BaseModel):\n    a: Annotated[int | None, Field(ge=1)]\n    b: list[Colour]\n    c: date\n"
        "    d: Literal['x', 'y'] = 'x'\n    e: list[Literal['x']]\n    f: Optional[bool] = None\n"
        "    kind: ClassVar[dict[str, str]] = {}\n"
        'x = (await ask(f"Which {thing}?", A)).or_stop()'
    ),
    "a list with options in the SDK's way": (
        "class A(BaseModel):\n    a: list[str] = Field(json_schema_extra={'items': {'enum': ['x', 'y']}})\n"
        'x = (await ask("Which?", A)).or_stop()'
    ),
    "a model that is not asked": "class A(BaseModel):\n    password: str\n",
}


@pytest.mark.parametrize(("code", "text"), FIRES.values(), ids=FIRES.keys())
def test_it_fires_on(code: str, text: str) -> None:
    assert codes(text) == [code]


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_it_is_silent_on(text: str) -> None:
    assert codes(text) == []
