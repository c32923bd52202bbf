"""What tools, prompts and resources of every kind of server do in these tests.

Each takes `run`, under which its effects are kept. `effects` tells them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import anyio
from tests.server.shop import Effects

from handraise import Fallback, NoAnswer, NotSupported, Person, UrlQuestion, ask, complete, once, replayable
from handraise.server.flows import _KNOWN

Body = Callable[..., Awaitable[str]]

LINK = "https://mcp.example.com/connect?e=Zk3q"
EFFECTS: dict[str, list[str]] = defaultdict(list)
PEOPLE: dict[str, Person] = {}
MINE: ContextVar[str] = ContextVar("mine", default="nothing")
LOGS: list[Effects] = []
"""Files that remember the effects of a process which does not live to tell them."""


def note(run: str, what: str) -> None:
    EFFECTS[run].append(what)
    for log in LOGS:
        log.add(what)


async def effects(run: str) -> str:
    """What happened under a run."""
    return ", ".join(EFFECTS[run])


# Questions.


async def pay(run: str) -> str:
    """Two questions with live data in them, an effect before each, a context variable across both."""
    note(run, "before")
    MINE.set(run)
    first = await ask.text(f"To whom? ({time.time_ns()})", if_declined="Nothing is paid.")
    note(run, "between")
    second = await ask.confirm(f"Really? ({time.time_ns()})")
    assert MINE.get() == run
    return f"{first.or_stop()} {second.action}"


async def chain(run: str) -> str:
    """Five questions, one after the other."""
    for _ in range(5):
        note(run, str((await ask.number("Next?", whole=True)).or_stop()))
    return " ".join(EFFECTS[run])


async def three(run: str) -> str:
    """Three questions at once."""
    note(run, "before")
    answers = await ask.all(a=ask.text("Number 1?"), b=ask.text("Number 2?"), c=ask.text("Number 3?"))
    note(run, "after")
    return " ".join(answer.or_stop() for answer in answers.values())


async def rescued(run: str) -> str:
    """A question after an exception that the body caught."""
    try:
        await ask.model("Draft a greeting", max_tokens=50)
    except NotSupported:
        note(run, "no model")
    return (await ask.text("Then you?")).or_stop()


async def early(run: str) -> str:
    """A question that is sent first and waited for later."""
    question = ask.text("Go on?").prepare()
    note(run, question.request["params"]["message"])
    return (await question).or_stop()


async def told(run: str) -> str:
    """The answer as the body sees it."""
    return repr(await ask.confirm("Really?"))


async def careful(run: str) -> str:
    """A value for clients that cannot be asked."""
    answer = await ask.text("Which timezone?", fallback="UTC")
    return f"fell back to {answer.value}" if isinstance(answer, Fallback) else answer.or_stop()


async def given(run: str) -> str:
    """One question takes an answer that came with the call, and one does not."""
    name = (await ask("Who?", str, key="who", unsafe_preanswer=True)).or_stop()
    sure = await ask.confirm("Really?", key="sure")
    note(run, name)
    return f"{name} {sure.action}"


async def where(run: str) -> str:
    """The client's roots, its model, and a question."""
    roots = await ask.roots()
    drafted = await ask.model("Draft a greeting", max_tokens=50)
    answer = await ask.choose("Where to?", {root.uri: root.uri for root in roots})
    return f"{drafted.text} {answer.or_stop()}"


async def stepped(run: str) -> str:
    """A step between two questions, which is done once."""
    first = (await ask.text("First?")).or_stop()
    await once("step", note, run, first)
    return f"{first} {(await ask.text('Second?')).or_stop()}"


@replayable
async def again(run: str) -> str:
    """The same, by an author who says that it may run again."""
    return await stepped(run)


# Endings.


@contextmanager
def noted(run: str) -> Iterator[None]:
    """What happens at a question, and that it is over."""
    try:
        yield
    except NoAnswer as nothing:
        note(run, nothing.code)
        raise
    finally:
        note(run, "finally")


async def wait(run: str) -> str:
    """A question whose missing answer nobody catches."""
    with noted(run):
        return (await ask.text("Go on?", timeout=30)).or_stop()


async def hurry(run: str) -> str:
    """One that is over soon."""
    with noted(run):
        return (await ask.text("Go on?", timeout=0.15)).or_stop()


async def work(run: str) -> str:
    """What goes on for long after an answer."""
    note(run, (await ask.text("Go on?")).or_stop())
    return await idle(run)


async def idle(run: str) -> str:
    """What goes on for long, and asks nothing."""
    note(run, "works")
    try:
        await anyio.sleep_forever()
    finally:
        note(run, "finally")
    return "done"


# Links.


async def link(run: str) -> str:
    """A link, and what the person does behind it."""
    PEOPLE[run] = ask.person()
    with noted(run):
        return repr(await ask.open("Allow access.", LINK, run, timeout=20))


async def browsing(run: str) -> str:
    """Whether a body waits for what is behind the link."""
    return str(any(run in flows._waiting for flows in _KNOWN))


async def files(run: str) -> str:
    """What cannot start before a link was finished."""
    PEOPLE[run] = ask.person()
    await ask.require(UrlQuestion("Your files need your permission.", LINK, run), timeout=20)
    return "files"


async def finish(run: str) -> str:
    """The end of what is behind the link."""
    await complete(run, person=PEOPLE[run])
    return "finished"


async def reported(report: Callable[..., Awaitable[None]], live: Callable[[], object]) -> str:
    """Report progress around two questions, and tell whether the live request is another one at the end."""
    first = live()
    for step, message in enumerate(("before", "between", "after"), 1):
        await report(step, 3, message)
        if step < 3:
            await ask.text("Go on?")
    return "the same" if live() == first else "another"


def plainly(run: str) -> str:
    """A plain function asks; a tool, for prompts and resources run in the event loop."""
    note(run, "before")
    return ask.sync(ask.text("Which?")).or_stop()


BODIES: dict[str, Body] = {
    body.__name__: body
    for body in (
        effects,
        pay,
        chain,
        three,
        rescued,
        early,
        told,
        careful,
        given,
        where,
        stepped,
        again,
        wait,
        hurry,
        work,
        idle,
        link,
        browsing,
        files,
        finish,
    )
}
