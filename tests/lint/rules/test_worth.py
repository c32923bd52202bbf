"""Questions that are not worth a person's attention."""

from __future__ import annotations

import pytest
from tests.lint.found import codes, in_tool

FIRES = {
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
SILENT = {
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
@pytest.mark.parametrize(("code", "lines"), FIRES.values(), ids=FIRES.keys())
def test_it_fires_on(code: str, lines: str) -> None:
    assert codes(in_tool(lines)) == [code]


@pytest.mark.shows("U5")
@pytest.mark.parametrize("lines", SILENT.values(), ids=SILENT.keys())
def test_it_is_silent_on(lines: str) -> None:
    assert codes(in_tool(lines)) == []
