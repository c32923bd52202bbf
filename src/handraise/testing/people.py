"""For tests: a scripted person, clients of one revision each, and a check that nothing runs before consent."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from html.parser import HTMLParser
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from handraise.forms import Form, check_answer
from handraise.questions import Accepted, Answer, Cancelled, Declined, FormQuestion, Question, UrlQuestion
from handraise.revisions import Revision
from handraise.sdk.client import (
    INTERNAL_ERROR,
    Callbacks,
    elicit_result,
    error_data,
    open_client,
    protocol_error,
)
from handraise.wire import Capabilities, dump_capabilities, parse_question

_SECONDS = 10
_REDIRECTS = 10


class _Form(HTMLParser):
    """A parsed page: its fields by name, their values, and its problems."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.posted: dict[str, list[str]] = {}
        """The values that an unchanged page sends."""
        self.fields: dict[str, str] = {}
        """The browser's name of each field, by its name for answers."""
        self.options: dict[str, dict[str, str]] = {}
        """The value of each option of a field, by its label."""
        self.leads_to = ""
        """The link on a page without fields."""
        self._field = ""
        self._option: tuple[str, str] | None = None
        self._alert: list[str] | None = None
        self.feed(page)

    @property
    def problems(self) -> str:
        """The notice on top of the page, which says what to correct."""
        return " ".join(" ".join(self._alert or []).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._field = given.get("data-field", self._field)
        if given.get("role") == "alert":
            self._alert = []
        if tag == "a" and "main" in given.get("class", "").split():
            self.leads_to = given["href"]
        name = given.get("name")
        if tag not in ("input", "textarea") or name is None:
            return
        value, kind = given.get("value", ""), given.get("type")
        if kind != "hidden":
            self.fields[self._field or name] = name
        if kind in ("radio", "checkbox"):
            self._option = name, value
        if kind not in ("radio", "checkbox") or "checked" in given:
            self.posted.setdefault(name, []).append(value)

    def handle_data(self, data: str) -> None:
        if self._option is not None and (label := data.strip()):
            name, value = self._option
            self.options.setdefault(name, {})[label] = value
            self._option = None
        if self._alert is not None and not self.fields:  # the notice stands above all fields
            self._alert.append(data)

    def enter(self, entries: Mapping[str, Any]) -> None:
        """Enter each value into the field of its name."""
        for name, entry in entries.items():
            assert name in self.fields, f"the page has no field {name!r}; it has {', '.join(self.fields)}"
            at = self.fields[name]
            self.posted[at] = [
                self._sent(at, each) for each in (entry if isinstance(entry, list) else [entry])
            ]

    def _sent(self, at: str, entry: Any) -> str:
        if isinstance(entry, bool):
            return "yes" if entry else "no"
        known = self.options.get(at)
        if known is None:
            return str(entry)
        assert entry in known, f"the page has no option {entry!r}; it has {', '.join(known)}"
        return known[entry]


class _Browser:
    """Opens pages and follows redirects, with the cookies of each place.

    By hand: Python's own cookie jar, unlike browsers, does not give a loopback address its secure cookies back.
    """

    def __init__(self) -> None:
        self._opener = build_opener(ProxyHandler({}), _NoRedirects())
        self._cookies: dict[str, dict[str, str]] = {}

    def open(self, url: str, body: bytes | None = None) -> tuple[int, str, str]:
        """The status, the address and the text of the page that comes in the end."""
        for _ in range(_REDIRECTS):
            parts = urlsplit(url)
            cookies = self._cookies.setdefault(parts.netloc, {})
            headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
            if body is not None:
                headers["Origin"] = f"{parts.scheme}://{parts.netloc}"
            try:
                response = self._opener.open(Request(url, body, headers), timeout=_SECONDS)  # noqa: S310 - a page under test
            except HTTPError as error:  # also a redirect
                response = error
            with response:
                for cookie in response.headers.get_all("Set-Cookie", []):
                    name, _, value = cookie.partition(";")[0].partition("=")
                    cookies[name] = value
                if not (location := response.headers.get("Location")):
                    return response.status, url, response.read().decode(errors="replace")
            url, body = urljoin(url, location), None
        raise AssertionError(f"the page sends the browser on and on, in the end to {url}")


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Leave redirects to the caller, who knows the cookies."""


def fill_in(url: str, entry: str | bool | Mapping[str, Any], *, do: str = "enter") -> str:
    """Write the entry into every field of the page, or each entry into the field of its name, and press a button.

    With True, follow the link of a page that leads elsewhere, as `ask.connect` does. Returns the page that comes then.
    Raises AssertionError when the page does not take it.
    """
    browser = _Browser()
    _, _, page = browser.open(url)
    form = _Form(page)
    if do == "enter" and not form.fields:
        assert form.leads_to, "the page has no fields to fill in, and leads nowhere"
        assert entry is True, (
            f"the page has no fields to fill in. It leads to {form.leads_to}: go there with Accepted(True)"
        )
        status, at, page = browser.open(urljoin(url, form.leads_to))
        assert urlsplit(at).netloc == urlsplit(url).netloc, (
            f"{urlsplit(at).netloc} answered with {status} and a page of its own. A scripted person cannot sign in "
            "there: let the authorization server of your tests agree at once"
        )
        problem = _Form(page).problems or ("" if status == HTTPStatus.OK else str(status))
        assert not problem, f"the account was not connected: {problem}"
        return page
    if do == "enter":
        assert not isinstance(entry, bool), f"the page has fields to fill in: {', '.join(form.fields)}"
        form.enter(dict.fromkeys(form.fields, entry) if isinstance(entry, str) else entry)
    status, _, page = browser.open(url, urlencode({**form.posted, "do": do}, doseq=True).encode())
    assert status != HTTPStatus.UNPROCESSABLE_ENTITY, (
        f"the page did not take the entry: {_Form(page).problems}"
    )
    return page


Planned: TypeAlias = Answer[Any] | Any
"""An answer, or an `ElicitResult` of the SDK's."""


class ScriptedPerson:
    """Gives these answers in order. The test fails on an extra question or an answer that does not fit.

    `Accepted(value)` answers a question with one field, such as those of `ask.choose` and `ask.confirm`;
    `Accepted({"name": value, …})` answers any form, and `Accepted(None)` consents to a URL question. With a value or a
    mapping the person also opens the page in a browser and enters it there, as `ask.secret` and `ask.setup` want
    it: fields by their names, options by their labels. With `Accepted(True)` the person follows the page of
    `ask.connect` to the account and back. An `ElicitResult` of the SDK is sent unchanged, whether or not it fits, to
    play a hostile client.
    """

    def __init__(self, *answers: Planned) -> None:
        self._answers = list(answers)
        self._visits: list[asyncio.Future[None]] = []
        self.asked: list[Question] = []
        self.surprise: str | None = None
        """Why the test must fail. The SDK would turn an exception in the callback into an answer."""

    @property
    def messages(self) -> list[str]:
        """The messages of what was asked, in order."""
        return [question.message for question in self.asked]

    async def __call__(self, context: Any, params: Any) -> Any:
        """Answer the next question. The SDK's client calls this."""
        raw = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        # A link has an id on 2025-11-25 and none on 2026-07-28. Forms are parsed alike.
        without_id = raw.get("mode") == "url" and "elicitationId" not in raw
        question = parse_question(raw, Revision.JULY_2026 if without_id else Revision.NOVEMBER_2025)
        self.asked.append(question)
        try:
            return self.answer(question)
        except AssertionError as surprise:
            self.surprise = self.surprise or str(surprise)
            return error_data(INTERNAL_ERROR, str(surprise))

    def answer(self, question: Question) -> Any:
        """The next answer in wire form."""
        assert self._answers, f"asked once more than expected: {question.message!r}"
        answer = self._answers.pop(0)
        if not isinstance(answer, Accepted | Declined | Cancelled):
            return answer
        if isinstance(answer, Accepted) and isinstance(question, UrlQuestion) and answer.data is not None:
            self._visits.append(
                asyncio.ensure_future(asyncio.to_thread(self._visit, question.url, answer.data))
            )
        if not isinstance(answer, Accepted) or not isinstance(question, FormQuestion):
            return elicit_result({"action": answer.action})
        content = _content(answer.data, question.form)
        problems = "; ".join(f"{each.field}: {each.message}" for each in check_answer(question.form, content))
        assert not problems, f"the answer to {question.message!r} does not fit: {problems}"
        return elicit_result({"action": "accept", "content": content})

    def _visit(self, url: str, entry: str | bool | Mapping[str, Any]) -> None:
        """Fill in a page. If the page refuses the entry, fail the test and close the page, so that the tool goes on."""
        try:
            fill_in(url, entry)
        except (OSError, AssertionError) as failed:
            self.surprise = self.surprise or f"a page could not be filled in: {failed}"
            with contextlib.suppress(OSError):
                fill_in(url, "", do="cancel")

    async def finish_visits(self) -> None:
        """Wait until every opened page is sent; `connect` calls it."""
        await asyncio.gather(*self._visits)

    def fail_on_surprise(self) -> None:
        """Fail after an unexpected question; `connect` calls it, whatever else failed."""
        assert self.surprise is None, self.surprise

    def fail_on_leftovers(self) -> None:
        """Fail when an answer was not used; `connect` calls it at the end."""
        assert not self._answers, f"{len(self._answers)} answers were never asked for"


def _content(data: Any, form: Form[Any]) -> dict[str, Any]:
    if isinstance(data, Mapping):
        return dict(data)
    names = [field.name for field in form.fields]
    assert len(names) == 1, f"the form has {len(names)} fields: answer with a mapping of {', '.join(names)}"
    return {names[0]: data}


BOTH = ("form", "url")


@asynccontextmanager
async def connect(
    server: Any,
    revision: Revision | str,
    person: ScriptedPerson | None = None,
    *,
    modes: Iterable[str] = BOTH,
    **options: Any,
) -> AsyncIterator[Any]:
    """A client of `server` that speaks `revision`. Without a person it cannot be asked.

    `server` is a server in this process, a URL, or a command's parameters. `options` are those of the SDK's client.
    """
    spoken, declared = Revision(revision), tuple(modes)

    def declare(capabilities: dict[str, Any], at: Revision) -> None:
        if capabilities.pop("elicitation", None) is not None:
            both = Capabilities(form="form" in declared, url="url" in declared)
            capabilities |= dump_capabilities(both, at)

    client = open_client(
        server,
        Callbacks(person, None, options.pop("message_handler", None)),
        declare,
        mode=str(spoken) if spoken.modern else "legacy",
        offer=None if spoken.modern else spoken,
        **options,
    )
    person = person or ScriptedPerson()
    try:
        async with client:
            assert client.protocol_version == spoken, f"the server speaks {client.protocol_version}"
            yield client
            await person.finish_visits()
    finally:
        person.fail_on_surprise()
    person.fail_on_leftovers()


_ENDINGS: Mapping[str, Answer[Any] | None] = {
    "the person declined": Declined(),
    "the person said no": Accepted(False),
    "the person dismissed the question": Cancelled(),
    "nobody could be asked": None,
}


async def assert_nothing_runs_before_consent(
    server: Any,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    state: Callable[[], Any],
    revisions: Iterable[Revision] = tuple(Revision),
) -> None:
    """Call `tool` on each revision. Fail when `state()` changes before the question, or without consent.

    `state` returns what the tool changes, as a comparable value: rows, files, sent messages. The call is made with a
    person who declines, with one who presses No where that is a button, with one who dismisses the question, and by a
    client that cannot be asked.
    """
    for revision in revisions:
        for ending, answer in _ENDINGS.items():
            before = copy.deepcopy(state())
            person = None if answer is None else _Watching(answer, state, before, f"{tool} on {revision}")
            async with connect(server, revision, person) as client:
                with suppress(protocol_error()):
                    await client.call_tool(tool, dict(arguments or {}))
            assert person is None or person.asked, f"{tool} on {revision} never asked"
            _unchanged(before, state(), f"{tool} on {revision}: something ran although {ending}")


class _Watching(ScriptedPerson):
    """Gives the same answer to every question, and checks the state each time. Where there is no No, it declines."""

    def __init__(self, answer: Answer[Any], state: Callable[[], Any], before: Any, call: str) -> None:
        super().__init__()
        self._answer, self._state, self._before, self._call = answer, state, before, call

    def answer(self, question: Question) -> Any:
        _unchanged(
            self._before, self._state(), f"{self._call}: something ran before it asked {question.message!r}"
        )
        if not isinstance(self._answer, Accepted):
            return elicit_result({"action": self._answer.action})
        flag = question.confirms if isinstance(question, FormQuestion) else None
        return elicit_result(
            {"action": "decline"} if flag is None else {"action": "accept", "content": {flag: False}}
        )


def _unchanged(before: Any, now: Any, complaint: str) -> None:
    assert now == before, f"{complaint}: {before!r} became {now!r}"
