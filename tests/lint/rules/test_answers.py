"""What becomes of an answer."""

from __future__ import annotations

import pytest
from tests.lint.found import codes, in_tool

from handraise.lint import lint_text

ASK = 'await ask.confirm(f"Rename {name}?")'
FIRES = {
    "data taken at once": ("HR201", f"return ({ASK}).data"),
    "data taken later": ("HR201", f"answer = {ASK}\nprint(answer.data)"),
    "data of a sync question": ("HR201", 'return ask.sync(ask.confirm(f"Rename {name}?")).data'),
    "content of a wire answer": ("HR201", 'a = await ask(f"Rename {name}?", Consent)\nreturn a.content'),
    "a match without Cancelled": (
        "HR202",
        f"match {ASK}:\n    case Accepted():\n        a = 1\n    case Declined():\n        a = 2\nreturn a",
    ),
    "only a no, not a refusal": (
        "HR202",
        f"match {ASK}:\n    case Accepted() | Cancelled():\n        a = 1\n"
        "    case Declined(by='answer'):\n        a = 2\nreturn a",
    ),
    "a fallback that nobody expects": (
        "HR202",
        "match await ask.confirm(f'Rename {name}?', fallback=1):\n    case Accepted():\n        a = 1\n"
        "    case Declined() | Cancelled():\n        a = 2\nreturn a",
    ),
    "a branch with a condition": (
        "HR202",
        f"match {ASK}:\n    case Accepted() | Declined():\n        a = 1\n"
        "    case Cancelled() if a:\n        a = 2\nreturn a",
    ),
    "an if for decline only": (
        "HR202",
        f"answer = {ASK}\nif answer.action == 'decline':\n    return 'no'\nreturn answer.data",
    ),
    "an if for decline only, without data": (
        "HR202",
        f"answer = {ASK}\nif answer.action == 'decline':\n    return 'no'\nreturn 'renamed'",
    ),
    "isinstance for cancel only": (
        "HR202",
        f"answer = {ASK}\nif isinstance(answer, Cancelled):\n    return 'no'\nreturn answer.data",
    ),
    "an answer for nobody": ("HR203", ASK),
    "a secret for nobody": ("HR203", "await ask.secret('API key')"),
    "an answer in a name that nobody reads": ("HR203", f"_ = {ASK}\nreturn 'ok'"),
    "a question that is not awaited": ("HR203", 'ask.confirm(f"Rename {name}?")'),
    "a bare except": ("HR204", f"try:\n    a = ({ASK}).or_stop()\nexcept:\n    a = None\nreturn a"),
    "an exception in a tuple": (
        "HR204",
        f"try:\n    a = ({ASK}).or_stop()\nexcept (OSError, Exception):\n    a = None\nreturn a",
    ),
}

SILENT = {
    "or_stop": f"return ({ASK}).or_stop()",
    "an action that is compared": f"a = {ASK}\nif a.action != 'accept':\n    return 'no'\nreturn a.data",
    "an action that is reported": f"a = {ASK}\nreturn f'decline? {{a.action}}'",
    "a walrus": f"if (a := {ASK}).action == 'accept':\n    return a.data\nreturn 'no'",
    "both answers in one test": (
        f"a = {ASK}\nif a.action in ('decline', 'cancel'):\n    return 'no'\nreturn a.data"
    ),
    "isinstance with Accepted": f"a = {ASK}\nif isinstance(a, Accepted):\n    return a.data\nreturn 'no'",
    "a wildcard": f"match {ASK}:\n    case Accepted():\n        return 1\n    case _:\n        return 2",
    "a named rest": f"match {ASK}:\n    case Accepted():\n        return 1\n    case rest:\n        return rest",
    "what stands behind the match": f"match {ASK}:\n    case Accepted():\n        return 1\nreturn 2",
    "an answer that is passed on": f"return {ASK}",
    "a page that is required": 'await ask.require("https://notes.example.com/in")',
    "several at once": "a = await ask.all(x=ask.date('When?'))\nreturn a['x'].or_stop()",
    "a prepared question": "q = ask.date('When?').prepare()\nreturn (await q).or_stop()",
    "an except that goes on": f"try:\n    return ({ASK}).or_stop()\nexcept Exception:\n    log()\n    raise",
    "NoAnswer by name": (
        f"try:\n    return ({ASK}).or_stop()\nexcept NoAnswer:\n    return 'nobody'\nexcept Exception:\n    return 1"
    ),
    "an except elsewhere": f"a = ({ASK}).or_stop()\ntry:\n    work(a)\nexcept Exception:\n    return 'failed'",
}


@pytest.mark.parametrize(("code", "lines"), FIRES.values(), ids=FIRES.keys())
def test_it_fires_on(code: str, lines: str) -> None:
    assert codes(in_tool(lines)) == [code]


@pytest.mark.parametrize("lines", SILENT.values(), ids=SILENT.keys())
def test_it_is_silent_on(lines: str) -> None:
    assert codes(in_tool(lines)) == []


@pytest.mark.parametrize(
    "line",
    [
        'if ask.confirm("Go on with 47 files?"): pass',
        'if await ask.confirm("Go on with 47 files?"): pass',
        'if not (r := await ask.confirm("Go on with 47 files?")): return r',
        'r = await ask.confirm("Go on with 47 files?")\n    if not r: return None',
        'r = await ask.confirm("Go on with 47 files?")\n    return r and 1',
        'assert await ask.confirm("Go on with 47 files?")',
        'return bool(await ask.confirm("Go on with 47 files?"))',
    ],
)
def test_truth_tests_of_questions_and_answers_are_found(line: str) -> None:
    assert "HR205" in {
        finding.code for finding in lint_text(f"async def go(path: str) -> object:\n    {line}\n")
    }


@pytest.mark.parametrize(
    "line",
    [
        "async with asyncio.timeout(10):\n        (await ask.confirm(f'Delete {path}?')).or_stop()",
        "(await asyncio.wait_for(ask.confirm(f'Delete {path}?'), 10)).or_stop()",
        "with anyio.fail_after(10):\n        (await ask.confirm(f'Delete {path}?')).or_stop()",
    ],
)
def test_a_time_limit_around_a_question_is_found(line: str) -> None:
    assert {finding.code for finding in lint_text(f"async def go(path: str) -> object:\n    {line}\n")} == {
        "HR206"
    }
