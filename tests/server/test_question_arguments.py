"""A question takes the arguments that it has, and no other; what is wrong is named where the question is made."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable
from enum import Enum, StrEnum
from typing import Any, Literal

import pytest
from mcp.server.mcpserver import MCPServer
from tests.server.peers import Person, accept, connect, text_of

from handraise import Form, Handraise, UrlQuestion, ask
from handraise.errors import FormError, UsageError
from handraise.forms import ANSWER, Choice, Text
from handraise.pages import SecretPage
from handraise.pages.entry_pages import SecretField
from handraise.revisions import Revision
from handraise.server.question_arguments import choice_form, choices_form

NO_UTF8 = os.fsdecode(b"caf\xe9")
"""A file name as the system has it, which is no text."""
QUESTIONS: dict[str, Callable[..., Any]] = {
    "ask": lambda **more: ask("Which?", str, **more),
    "number": lambda **more: ask.number("How many?", **more),
    "confirm": lambda **more: ask.confirm("Sure?", **more),
    "open": lambda **more: ask.open("Look", "https://example.com", **more),
    "secret": lambda **more: ask.secret("API key", **more),
}
every_question = pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)


@every_question
def test_an_argument_that_no_question_takes_is_refused_by_name(question: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"'integre'.*timeout"):
        question(integre=True)


@every_question
def test_every_question_refuses_a_timeout_and_a_key_that_make_no_sense(question: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match=r"^timeout"):
        question(timeout=0)
    with pytest.raises(UsageError, match=r"^key"):
        question(key=5)


@pytest.mark.parametrize(
    "timeout",
    [0, -1, float("nan"), float("inf"), 10**400, True, "5", dt.timedelta(seconds=5)],
    ids=lambda timeout: repr(timeout)[:20],
)
def test_a_timeout_that_no_clock_can_keep_is_refused(timeout: Any) -> None:
    with pytest.raises(UsageError, match=r"^timeout has to be a number of seconds above 0"):
        ask.confirm("Sure?", timeout=timeout)


@pytest.mark.parametrize("key", [5, "", b"k", NO_UTF8], ids=ascii)
def test_a_key_that_is_no_name_is_refused(key: Any) -> None:
    with pytest.raises(UsageError, match=r"^key"):
        ask.confirm("Sure?", key=key)


def test_what_another_question_takes_is_told_to_be_wrong_here_and_where_to_look() -> None:
    with pytest.raises(
        TypeError, match=r"takes no argument 'check'; every one takes .*fallback, and help\(ask\)"
    ):
        ask.confirm("Sure?", check=bool)  # type: ignore[call-overload]


def test_the_model_gets_nothing_that_the_protocol_does_not_know() -> None:
    with pytest.raises(TypeError, match=r"'system_prompt'; the protocol's are .*systemPrompt"):
        ask.model("Say", max_tokens=9, system_prompt="Be brief")
    ask.model("Say", max_tokens=9, systemPrompt="Be brief", temperature=0).use()


async def test_what_is_asked_of_the_client_has_the_same_limits() -> None:
    for asking in (lambda **more: ask.roots(**more), lambda **more: ask.model("Say", max_tokens=9, **more)):
        with pytest.raises(UsageError, match=r"^timeout"):
            asking(timeout=0)
        with pytest.raises(UsageError, match=r"^key"):
            asking(key=5)
    with pytest.raises(UsageError, match=r"^timeout"):
        await ask.require("https://example.com", timeout=-1)


@pytest.mark.parametrize(
    ("argument", "make"),
    [
        ("message", lambda text: ask(text, str)),
        ("message", lambda text: ask.confirm(text)),
        ("message", lambda text: ask.confirm(text, because="it is late")),
        ("message", lambda text: ask.open(text, "https://example.com")),
        ("because", lambda text: ask.confirm("Sure?", because=text)),
        ("if_declined", lambda text: ask.confirm("Sure?", if_declined=text)),
        ("because", lambda text: ask.secret("API key", because=text)),
        ("title", lambda text: ask.secret(text)),
        ("title", lambda text: ask.setup(text, str)),
        ("title", lambda text: ask.outside(text, "https://example.com")),
        ("hint", lambda text: ask.secret("API key", hint=text)),
        ("url", lambda text: ask.open("Look", text)),
        ("elicitation_id", lambda text: ask.open("Look", "https://example.com", text)),
        ("prompt", lambda text: ask.model(text, max_tokens=9)),
    ],
)
@pytest.mark.parametrize("text", [5, NO_UTF8], ids=["a number", "no UTF-8"])
def test_what_is_no_text_is_refused_by_the_arguments_name(
    argument: str, make: Callable[[Any], Any], text: Any
) -> None:
    says = "has to be text, not 5|text or a list" if text == 5 else r"os\.fsencode"
    with pytest.raises(UsageError, match=rf"^{argument}:? .*({says})"):
        make(text)


@pytest.mark.parametrize("message", ["", " ", "\n\t"], ids=repr)
@pytest.mark.parametrize("make", [ask.confirm, ask.text, ask.number, lambda message: ask(message, str)])
def test_a_question_without_a_message_is_refused(make: Callable[[str], Any], message: str) -> None:
    with pytest.raises(UsageError, match=r"^message has to be a sentence that the person can answer"):
        make(message)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ask("Sure?", Form.by_hand(Text("x", title=NO_UTF8))),
        lambda: ask("Sure?", Form.by_hand(Text("x", description=NO_UTF8))),
        lambda: ask("Sure?", Form.by_hand(Text("x", default=NO_UTF8))),
        lambda: ask("Sure?", Form.by_hand(Choice("x", {"a": NO_UTF8}))),
        lambda: ask("Sure?", Form.by_hand(Choice("x", [NO_UTF8]))),
    ],
)
def test_a_form_that_utf8_cannot_carry_says_which_field_and_what_to_do(make: Callable[[], Any]) -> None:
    with pytest.raises(FormError, match=r"^x: .*os\.fsencode") as refused:
        make()
    assert refused.value.field == "x"


def test_other_wrong_types_are_refused_by_name_too() -> None:
    wrong: Any = "x"
    with pytest.raises(UsageError, match=r"^check has to be a function"):
        ask.text("Who?", check=wrong)
    with pytest.raises(UsageError, match=r"^still has to be a function"):
        ask.confirm("Sure?", still=wrong)
    with pytest.raises(UsageError, match=r"^max_tokens"):
        ask.model("Say", max_tokens=-1)
    with pytest.raises(UsageError, match=r"^prompt has to be text or a list"):
        ask.model([wrong], max_tokens=9)
    with pytest.raises(UsageError, match=r"^prompt: This is not a JSON value"):
        ask.model("Say", max_tokens=9, temperature=float("nan"))


@pytest.mark.parametrize(
    ("link", "says"),
    [
        (5, "^link has to be an address"),
        (UrlQuestion(NO_UTF8, "https://example.com"), "^message: .*fsencode"),
        (UrlQuestion("Look", "https://example.com", NO_UTF8), "^elicitation_id: .*fsencode"),
        (SecretPage(NO_UTF8, (SecretField("key", "Key"),), None, None, None), "^message: .*fsencode"),
    ],
)
async def test_what_cannot_be_required_is_refused_by_name(revision: Revision, link: Any, says: str) -> None:
    server = Handraise().install(MCPServer("required"))

    @server.tool()
    async def work() -> str:
        with pytest.raises(UsageError) as refused:
            await ask.require(link)
        return str(refused.value.args[0])

    async with connect(server, revision, Person()) as client:
        assert re.search(says, text_of(await client.call_tool("work")))


async def test_a_reason_that_utf8_cannot_carry_does_not_end_the_server(revision: Revision) -> None:
    server = Handraise().install(MCPServer("reasons"))

    @server.tool()
    async def work() -> str:
        taken = ask.text("Name?", check=lambda name: f"{NO_UTF8} exists." if name == "a" else None)
        return (await taken).or_stop()

    person = Person(accept(answer="a"), accept(answer="b"))
    async with connect(server, revision, person) as client:
        assert text_of(await client.call_tool("work")) == "b"
    assert person.messages[1].endswith("- caf? exists.")
    assert person.asked[1].model_dump_json()


class Mixed(Enum):
    NUMBER = 1
    TEXT = "1"
    OTHER = (1,)


class Size(StrEnum):
    SMALL = "s"
    LARGE = "l"


class Old(str, Enum):  # noqa: UP042 - what a StrEnum was before there was one
    RED = "r"


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (["2", 7], ["2", 7]),
        ([7, "1", "#1", 8], [7, "1", "#1", 8]),
        ({None: "New", "1": "Website"}, [None, "1"]),
        ([True, False], [True, False]),
        (Mixed, [Mixed.NUMBER, Mixed.TEXT, Mixed.OTHER]),
        ({Size.SMALL: "Small", "xl": "Huge"}, [Size.SMALL, "xl"]),
        ([Old.RED, "blue"], [Old.RED, "blue"]),
        (range(3), [0, 1, 2]),
        (Literal["s", 7], ["s", 7]),
        ([(1, 2), (3, 4)], [(1, 2), (3, 4)]),
        (iter("ab"), ["a", "b"]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_every_value_is_told_from_the_others_and_comes_back_as_itself(
    options: Any, values: list[Any]
) -> None:
    form, value_of = choice_form(options)
    names = [option.value for option in form.fields[0].options]  # type: ignore[union-attr]
    assert [value_of({ANSWER: name}) for name in names] == values
    assert [type(value_of({ANSWER: name})) for name in names] == [type(value) for value in values]


def test_what_is_sent_stays_short_and_readable() -> None:
    form, _ = choice_form({None: "New", "1": "Website", "shop": "Shop"})
    sent = [(option.value, option.label) for option in form.fields[0].options]  # type: ignore[union-attr]
    assert sent == [("#1", "New"), ("1", "Website"), ("shop", "Shop")]


@pytest.mark.parametrize("options", ["abc", b"abc", None, 5], ids=repr)
def test_what_is_no_list_of_options_is_refused(options: Any) -> None:
    for make in (choice_form, lambda given: choices_form(given, None, None)):
        with pytest.raises(FormError, match=r"^options: .*a list of values"):
            make(options)


@pytest.mark.parametrize("options", [[], {}, ["a", "a"]], ids=repr)
def test_no_options_and_one_text_twice_are_refused(options: Any) -> None:
    with pytest.raises(FormError, match=r"^answer: "):
        choice_form(options)


def test_pairs_of_values_and_titles_are_told_to_be_a_mapping() -> None:
    with pytest.raises(FormError, match=r"write a mapping, as in dict\(options\)"):
        choice_form([("s", "Small"), ("l", "Large")])
