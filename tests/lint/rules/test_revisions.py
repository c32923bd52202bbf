"""Code that works on one revision and not on another."""

from __future__ import annotations

import pytest
from tests.lint.found import codes

FIRES = {
    "a context by its annotation": ("HR401", "async def a(c: Context):\n    return await c.elicit('m', A)"),
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
SILENT = {
    "somebody else's elicit": "async def a(model):\n    return await model.elicit('m', A)",
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


@pytest.mark.parametrize(("code", "text"), FIRES.values(), ids=FIRES.keys())
def test_it_fires_on(code: str, text: str) -> None:
    assert codes(text) == [code]


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_it_is_silent_on(text: str) -> None:
    assert codes(text) == []
