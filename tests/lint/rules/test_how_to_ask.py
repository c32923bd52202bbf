"""Rules about how to ask: forms, links and revisions."""

from __future__ import annotations

import pytest
from tests.lint.found import codes, in_tool

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


LINK_FIRES = {
    "http": "'http://shop.example.com/pay'",
    "a key": "f'https://shop.example.com/?api_key={key}'",
    "personal data behind an unknown host": "f'{BASE}/pay?email={name}'",
    "a sum": "'https://shop.example.com/?token=' + token",
    "another scheme": "'javascript:alert(1)'",
    "a user before the host": "'https://shop.example.com@evil.example/'",
}
LINK_SILENT = {
    "https": "'https://shop.example.com/pay'",
    "loopback": "f'http://127.0.0.1:{port}/pay/{flow}'",
    "a host known at run time": "f'http://{host}:{port}/pay'",
    "a link from elsewhere": "settings.url",
    "plain http on purpose": "'http://shop.example.com/pay', unsafe_plain_http=True",
}


@pytest.mark.parametrize("link", LINK_FIRES.values(), ids=LINK_FIRES.keys())
def test_the_rule_about_links_fires_on(link: str) -> None:
    assert set(codes(in_tool(f"(await ask.open('Pay there', {link})).or_stop()"))) == {"HR301"}


@pytest.mark.parametrize("link", LINK_SILENT.values(), ids=LINK_SILENT.keys())
def test_the_rule_about_links_is_silent_on(link: str) -> None:
    assert codes(in_tool(f"(await ask.open('Pay there', {link})).or_stop()")) == []


def test_required_links_are_read_too() -> None:
    assert codes("await ask.require('https://a.example.com', 'http://b.example.com')") == ["HR301"]
    assert codes("await ask.require(UrlQuestion('In', 'http://b.example.com'))") == ["HR301"]


def test_the_link_of_an_errand_is_read() -> None:
    assert codes("(await ask.outside('Pay', 'http://pay.example.com/')).or_stop()") == ["HR301"]
    assert codes("(await ask.outside('Pay', lambda errand: errand.back)).or_stop()") == []


def test_a_constant_of_the_file_is_followed() -> None:
    assert codes("PAGE = 'http://b.example.com'\nawait ask.require(PAGE)") == ["HR301"]


def test_an_address_in_a_description_is_found() -> None:
    form = "class A(BaseModel):\n    a: bool = Field(description='See www.example.com')\n"
    assert codes(form + "x = (await ask('Agreed?', A)).or_stop()") == ["HR302"]


def test_an_address_in_the_message_of_a_link_is_no_form() -> None:
    assert codes("(await ask.open('See https://a.example.com', 'https://a.example.com')).or_stop()") == []


REVISION_FIRES = {
    "a context by its annotation": ("HR401", "async def a(c: Context):\n    return await c.elicit('m', A)"),
    "a context by its annotation beside other parameters": (
        "HR401",
        "async def a(who, /, other: str, *, c: mcp.Context):\n    return await c.elicit('m', A)",
    ),
    "a context in an attribute": ("HR401", "async def a(self):\n    return await self.ctx.elicit('m', A)"),
    "a context that is fetched": ("HR401", "async def a():\n    return await get_context().elicit('m', A)"),
    "a session": ("HR401", "async def a(ctx):\n    return await ctx.session.elicit_url('m', url, 'i')"),
    "a counter in a resolver": ("HR402", "async def a():\n    state.count += 1\n    return Elicit('m', A)"),
    "an effect in a function behind Resolve": (
        "HR402",
        "async def a():\n    await send_mail()\nasync def b(x: Annotated[str, Resolve(a)]): ...",
    ),
    "a clock in a variable": (
        "HR403",
        "def a():\n    at = time.time()\n    return Elicit(f'At {at}: which?', A)",
    ),
    "a new id in a wire question": (
        "HR403",
        "import uuid\nElicitRequestFormParams(message=f'Order {uuid.uuid4()}?', requested_schema=s)",
    ),
    "an effect between two questions of a replayable body": (
        "HR405",
        "@replayable\nasync def a():\n    x = (await ask.date('When?')).or_stop()\n    book(x)\n"
        "    return (await ask.date('And then?')).or_stop()",
    ),
}
REVISION_SILENT = {
    "somebody else's elicit": "async def a(model):\n    return await model.elicit('m', A)",
    "somebody else's elicit beside a context": (
        "async def a(model, c: Context):\n    return await model.elicit('m', A)"
    ),
    "somebody else's elicit outside of functions": "model.elicit('m', A)",
    "an elicit of what has no name": (
        "async def a(self, c: Context):\n    return await self.models[0].elicit('m', A)"
    ),
    "an effect in the body behind resolvers": (
        "async def a():\n    return Elicit('m', A)\nasync def b(x: Annotated[A, Resolve(a)]):\n    save(x)"
    ),
    "a list of its own in a resolver": (
        "async def a():\n    found = []\n    found.append(1)\n    return Elicit(f'{found}', A)"
    ),
    "a clock in a question of ours": (
        "from datetime import datetime\nx = (await ask.confirm(f'It is {datetime.now()}. Go on?')).or_stop()"
    ),
    "an effect behind the last question": (
        "@replayable\nasync def a():\n    x = (await ask.date('When?')).or_stop()\n    book(x)"
    ),
    "an effect in once": (
        "@replayable\nasync def a():\n    await once('book', lambda: book(1))\n"
        "    return (await ask.date('When?')).or_stop()"
    ),
    "an object that is made": "async def a():\n    x = CreateRequest()\n    return Elicit(f'{x}', A)",
    "a notice to the client": (
        "async def a(ctx):\n    await ctx.session.send_log_message('info', 'asking')\n    return Elicit('m', A)"
    ),
    "tools that a function makes": (
        "def build():\n    server.add_tool(a)\n    async def a():\n        return Elicit('m', A)\n    save(server)"
    ),
    "an effect on a way that ends": (
        "@replayable\nasync def a(free):\n    if free:\n        book(1)\n        return 'booked'\n"
        "    return (await ask.date('When?')).or_stop()"
    ),
    "an effect before a question of ours": (
        "async def a():\n    book(1)\n    return (await ask.date('When?')).or_stop()"
    ),
}


@pytest.mark.parametrize(("code", "text"), REVISION_FIRES.values(), ids=REVISION_FIRES.keys())
def test_the_rules_about_revisions_fire_on(code: str, text: str) -> None:
    assert codes(text) == [code]


@pytest.mark.parametrize("text", REVISION_SILENT.values(), ids=REVISION_SILENT.keys())
def test_the_rules_about_revisions_are_silent_on(text: str) -> None:
    assert codes(text) == []
