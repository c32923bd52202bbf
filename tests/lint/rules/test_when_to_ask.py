"""Destructive tools that never ask."""

from __future__ import annotations

import pytest
from tests.lint.found import codes, in_tool

HARM_FIRES = {
    "a name": "@server.tool()\ndef notes_delete(title: str): ...",
    "a name given to the tool": "@server.tool(name='send-mail')\ndef post(to: str): ...",
    "a name in camel case": "@mcp.tool\nasync def dropTable(): ...",
    "a hint": "@server.tool(annotations={'destructiveHint': True})\ndef tidy(): ...",
    "a function that is added": "def tidy(path):\n    path.unlink()\nserver.add_tool(tidy, name='tidy')",
    "SQL": "@mcp.tool\ndef tidy(db):\n    db.execute('DELETE FROM notes')",
    "a method of a path": "@mcp.tool\ndef tidy(path):\n    path.unlink()",
    "what a method of the same class does": (
        "class S:\n    @mcp.tool\n    def tidy(self):\n        self.work()\n"
        "    def work(self):\n        shutil.rmtree('x')"
    ),
    "a body that destroys under an innocent hint": (
        "@server.tool(annotations=ToolAnnotations(readOnlyHint=True))\ndef look(path):\n    path.unlink()"
    ),
}
HARM_SILENT = {
    "no tool": "def delete_note(): ...",
    "a function that is handed to something else": "def delete_note(): ...\nrun(delete_note)",
    "a tool that reads": "@server.tool()\ndef list_deleted(): ...",
    "a read-only tool with a loud name": (
        "@server.tool(annotations=ToolAnnotations(readOnlyHint=True))\ndef delete_preview(): ..."
    ),
    "a tool that asks": (
        "@mcp.tool\nasync def delete_note(t):\n    (await ask.confirm(f'Delete {t}?')).or_stop()"
    ),
    "a tool that asks through another": (
        "@mcp.tool\nasync def delete_note(t):\n    await sure(t)\n"
        "async def sure(t):\n    (await ask.confirm(f'Delete {t}?')).or_stop()"
    ),
    "a tool with a resolver": "@mcp.tool\ndef delete_note(a: Annotated[A, Resolve(which)]): ...",
    "a helper that says that it asks": "@mcp.tool\nasync def delete_note(t):\n    await confirm_deletion(t)",
    "a guard on the tool": "@mcp.tool\n@guard('Delete {t}?')\ndef delete_note(t): ...",
    "a guard in the body": (
        "from handraise.guards import SqlGuard\n@mcp.tool\n"
        "async def delete_note(t):\n    run(await sql_guard.approve(t))"
    ),
    "a temporary file": "@mcp.tool\ndef tidy(tmp_path):\n    tmp_path.unlink()",
    "other SQL": "@mcp.tool\ndef tidy(db):\n    db.execute('SELECT * FROM deleted')",
}


@pytest.mark.parametrize("text", HARM_FIRES.values(), ids=HARM_FIRES.keys())
def test_the_rule_about_destructive_tools_fires_on(text: str) -> None:
    assert codes(text) == ["HR501"]


@pytest.mark.parametrize("text", HARM_SILENT.values(), ids=HARM_SILENT.keys())
def test_the_rule_about_destructive_tools_is_silent_on(text: str) -> None:
    assert codes(text) == []


ASK = "(await ask.confirm(f'Rename {name}?')).or_stop()"
LOOPS_FIRES = {
    "for": f"for name in names:\n    {ASK}",
    "while": f"while not done:\n    {ASK}",
    "async for": f"async for name in names:\n    {ASK}",
    "a comprehension": f"return [{ASK} for name in names]",
}
LOOPS_SILENT = {
    "what a loop goes over": "for x in (await ask.choose_many('Which?', names)).or_stop():\n    work(x)",
    "the else of a loop": f"for x in names:\n    work(x)\nelse:\n    {ASK}",
    "what a comprehension goes over": "return [x for x in (await ask.choose_many('Which?', a)).or_stop()]",
    "one round for all": (
        "a = await ask.all(**{n: ask.date(f'When {n}?') for n in names})\n"
        "return [x.or_stop() for x in a.values()]"
    ),
    "a function made in a loop": f"for x in names:\n    async def later(name):\n        {ASK}\n    add(later)",
}


@pytest.mark.shows("U5")
@pytest.mark.parametrize("lines", LOOPS_FIRES.values(), ids=LOOPS_FIRES.keys())
def test_the_rule_about_loops_fires_on(lines: str) -> None:
    assert codes(in_tool(lines)) == ["HR502"]


@pytest.mark.shows("U5")
@pytest.mark.parametrize("lines", LOOPS_SILENT.values(), ids=LOOPS_SILENT.keys())
def test_the_rule_about_loops_is_silent_on(lines: str) -> None:
    assert codes(in_tool(lines)) == []


@pytest.mark.shows("U5")
def test_a_function_that_only_defines_one_that_asks_may_be_called_in_a_loop() -> None:
    text = f"def shop():\n    async def sure(name):\n        {ASK}\n    return sure\nfor x in range(3):\n    shop()\n"
    assert codes(text) == []


@pytest.mark.shows("U5")
def test_a_function_that_asks_is_found_in_the_loop_that_calls_it() -> None:
    text = f"async def sure(name):\n    {ASK}\nasync def work(names):\n    for n in names:\n        await sure(n)"
    assert codes(text) == ["HR502"]


WORTH_FIRES = {
    "an open question": ("HR503", "return (await ask.text('Anything else?')).or_stop()"),
    "an open question in a form": (
        "HR503",
        "return (await ask('Please describe the problem', Form.from_fields(a=str))).or_stop()",
    ),
    "an argument that could be required": (
        "HR503",
        "if name is None:\n    name = (await ask.text('What is the name?')).or_stop()\nreturn name",
    ),
    "an argument that is mended": (
        "HR504",
        "if len(name) > 80:\n    name = (await ask.text('Too long. Which name?')).or_stop()\nreturn name",
    ),
    "an exception that is mended": (
        "HR504",
        "try:\n    n = int(name)\nexcept (TypeError, ValueError):\n"
        "    n = (await ask.number(f'{name} is no number.')).or_stop()\nreturn n",
    ),
    "a trimmed argument that is mended": (
        "HR504",
        "trimmed = name.strip()\nif len(trimmed) < 3:\n"
        "    more = (await ask.text('Too short. Which name?')).or_stop()\n    return more\nreturn trimmed",
    ),
    "a request for an argument": (
        "HR503",
        "path = (await ask.text('Please provide the path.')).or_stop()\nreturn path",
    ),
    "a confirmation of nothing": ("HR505", "return (await ask.confirm('Do you want to proceed?')).or_stop()"),
    "a flag for nothing": ("HR505", "return (await ask('Is this ok?', bool)).or_stop()"),
}
WORTH_SILENT = {
    "a question with live data": (
        "if name is None:\n    name = (await ask.text(f'{count()} exist. Which?')).or_stop()\nreturn name"
    ),
    "missing context with a check": (
        "zone = (await ask.text('In which time zone are you?', check=known)).or_stop()\nreturn zone"
    ),
    "missing context": "zone = (await ask.text('In which time zone are you?')).or_stop()\nreturn zone",
    "a number that has to be typed": (
        "if len(find(name)) > 20:\n    (await ask.text(f'Type {name} to go on.')).or_stop()\nreturn name"
    ),
    "a choice that only the server knows": (
        "if name is None:\n    name = (await ask.choose('Which one?', names())).or_stop()\nreturn name"
    ),
    "a choice where nothing was found": (
        "try:\n    n = find(name)\nexcept KeyError:\n"
        "    n = (await ask.choose(f'No {name}. Which one?', names())).or_stop()\nreturn n"
    ),
    "a confirmation with what is at stake": (
        "return (await ask.confirm(f'Are you sure that {name} may go?')).or_stop()"
    ),
    "a plain yes or no": "return (await ask.confirm('Sync every night?')).or_stop()",
}


@pytest.mark.shows("U5")
@pytest.mark.parametrize(("code", "lines"), WORTH_FIRES.values(), ids=WORTH_FIRES.keys())
def test_the_rule_about_worth_fires_on(code: str, lines: str) -> None:
    assert codes(in_tool(lines)) == [code]


@pytest.mark.shows("U5")
@pytest.mark.parametrize("lines", WORTH_SILENT.values(), ids=WORTH_SILENT.keys())
def test_the_rule_about_worth_is_silent_on(lines: str) -> None:
    assert codes(in_tool(lines)) == []
