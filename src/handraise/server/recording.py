"""What becomes of a server's questions, written to its ledger: an answer is on disk before the body gets it.

Without a ledger none of this is loaded, and a question costs nothing more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from mcp.server.context import HandlerResult

from handraise.conversation.recorded import Record
from handraise.errors import Expired, HandraiseError, Mode, NotSupported, Stale, TooManyQuestions, Withdrawn
from handraise.ledger import About, Client, Ledger, Request, Server
from handraise.ledger.parties import principal_of
from handraise.ledger.trail import Trail, shown_of
from handraise.questions import Accepted, Cancelled, Declined, Fallback, FormQuestion, Question, UrlQuestion
from handraise.revisions import Revision
from handraise.server.calls import Call, Context
from handraise.server.inquiries import Inquiry
from handraise.urls import inspect_url

Pose = Callable[[Call, Inquiry[Any], Any, str | None], Awaitable[Any]]


class Recorder:
    """Records the questions of one server."""

    def __init__(self, ledger: Ledger, name: str, *, own: bool) -> None:
        self.ledger = ledger
        self._server = Server(name)
        self._own = own
        """Whether its store is the ledger's alone."""

    async def start(self) -> None:
        """Say what was in flight when the last process ended."""
        await self.ledger.start()

    async def close(self) -> None:
        """Sign what there is."""
        await (self.ledger.aclose() if self._own else self.ledger.finish())

    def observes(self, inquiry: Inquiry[Any]) -> bool:
        """Whether its steps come here already."""
        return isinstance(inquiry, Observed)

    async def pose(self, pose: Pose, call: Call, inquiry: Inquiry[Any], manner: Any, name: str | None) -> Any:
        """Ask, and record how it goes."""
        question = getattr(inquiry, "question", None)
        if not isinstance(question, FormQuestion | UrlQuestion):  # roots and the model are asked of nobody
            return await pose(call, Observed(inquiry, None), manner, name)
        recording = Recording(self, call, question)
        try:
            result = await pose(call, Observed(inquiry, recording), manner, name)
        except asyncio.CancelledError:
            recording.withdrawn()
            raise
        except HandraiseError as error:
            await recording.ended(error)
            raise
        if isinstance(result, Fallback):
            await recording.write(
                recording.trail.failed("nobody could be asked", "the author's fallback was used")
            )
        return result

    def about(self, call: Call, mode: Literal["form", "url"]) -> About:
        """What all events of a question in this call have in common."""
        return About(
            self._server,
            principal_of(call.person),
            self._request(call.ctx),
            mode=mode,
            client=_client(call.ctx),
            revision=call.revision,
            trace=_trace(call.ctx),
        )

    def observing(
        self, call: Call, handler: Callable[[Context], Awaitable[HandlerResult]]
    ) -> Callable[[Context], Awaitable[HandlerResult]]:
        """The handler, with its end joined to the answers that it used."""

        async def observed(ctx: Context) -> HandlerResult:
            try:
                result = await handler(ctx)
            except asyncio.CancelledError:
                self.ledger.record_soon(*self._uses(call, "cancelled"))
                raise
            except BaseException:
                await self._used(call, "error")
                raise
            await self._used(call, "error" if _is_error(result) else "result")
            return result

        return observed

    async def _used(self, call: Call, ended: Literal["result", "error"]) -> None:
        if records := self._uses(call, ended):
            await self.ledger.record(*records)

    def _uses(self, call: Call, ended: Literal["result", "error", "cancelled"]) -> list[Record]:
        request = self._request(call.ctx)
        return [trail.used(request, ended) for trail in call.answered]

    def _request(self, ctx: Context) -> Request:
        params = ctx.params or {}
        target = params.get("uri" if ctx.method == "resources/read" else "name")
        given = params.get("arguments")
        return self.ledger.request(ctx.method, None if target is None else str(target), given or {})


class Recording:
    """The record of one question."""

    def __init__(self, recorder: Recorder, call: Call, question: Question) -> None:
        self._ledger = recorder.ledger
        self._call = call
        self._mode = question.mode
        self._decided = False
        link = inspect_url(question.url) if isinstance(question, UrlQuestion) else None
        shown = shown_of(question, call.revision, link=link)
        about = recorder.about(call, question.mode)
        self.trail: Trail = self._ledger.trail(self._ledger.new_question(), about, shown, until="used")

    async def write(self, *records: Record) -> None:
        """Write events; on return they are on disk."""
        await self._ledger.record(*records)

    async def asked(self) -> None:
        """It goes to the client."""
        await self.write(self.trail.asked())

    async def decided(self, raw: Any, *reasons: str) -> None:
        """The client brought a decision; who made it there, only the client knows."""
        if self._decided or not isinstance(raw, Mapping):
            return
        self._decided = True
        action = raw["action"]
        content = raw.get("content") if self._mode == "form" and action == "accept" else None
        records = [self.trail.decided(action, "human", content=content, reasons=reasons)]
        if self._mode == "url" and action == "accept":
            records.append(self.trail.opened())
        await self.write(*records)
        self._call.answered = (*self._call.answered, self.trail)

    async def completed(self) -> None:
        """What the link led to is finished."""
        await self.write(self.trail.completed())

    def withdrawn(self) -> None:
        """The call was cancelled; an answer that came before is told of with the call's end."""
        if not self._decided:
            self._ledger.record_soon(self.trail.withdrawn("the call was cancelled"))

    async def ended(self, error: HandraiseError) -> None:
        """Nobody answered, or the answer was of no use."""
        match error:
            case _ if self._decided:
                return
            case NotSupported():
                record = self.trail.failed("nobody could be asked", f"{self._mode} mode was not declared")
            case Expired():
                record = self.trail.expired()
            case Withdrawn():
                record = self.trail.withdrawn("the asker went away")
            case TooManyQuestions():
                record = self.trail.refused((error.public,))
            case _:
                record = self.trail.failed(error.public)
        await self.write(record)


class Observed:
    """An inquiry whose steps are recorded, or one that is not to be recorded at all."""

    def __init__(self, inquiry: Inquiry[Any], recording: Recording | None) -> None:
        self._inquiry = inquiry
        self._recording = recording
        self._asked = False

    @property
    def mode(self) -> Mode:
        return self._inquiry.mode

    @property
    def content(self) -> object:
        return self._inquiry.content

    def request(self, revision: Revision, reasons: Sequence[str] = ()) -> dict[str, Any]:
        return self._inquiry.request(revision, reasons)

    async def begin(self, call: Call, timeout: float) -> Observed:
        self._inquiry = await self._inquiry.begin(call, timeout)
        self._asked = True
        if self._recording is not None:
            await self._recording.asked()
        return self

    async def read(self, raw: Any, call: Call) -> Any:
        recording = self._recording
        if recording is None:
            return await self._inquiry.read(raw, call)
        said = () if self._asked else ("it came with the call and was never shown",)
        if self.mode == "url" and isinstance(raw, Mapping) and raw.get("action") == "accept":
            await recording.decided(raw, *said)  # consent, before the person is waited for in the browser
        try:
            result = await self._inquiry.read(raw, call)
        except Stale:
            await recording.decided(raw, *said)
            raise
        if isinstance(result, Accepted | Declined | Cancelled):
            await recording.decided(raw, *said)
        if self.mode == "url" and isinstance(result, Accepted) and getattr(self._inquiry, "wait", False):
            await recording.completed()
        return result


def _is_error(result: HandlerResult) -> bool:
    if isinstance(result, Mapping):
        return bool(result.get("isError"))
    return bool(getattr(result, "is_error", False))


def _client(ctx: Context) -> Client | None:
    params = ctx.session.client_params
    return None if params is None else Client(params.client_info.name, params.client_info.version or None)


def _trace(ctx: Context) -> str | None:
    """The trace id of the caller's trace context (W3C), if it sent one."""
    meta = (ctx.params or {}).get("_meta")
    parent = meta.get("traceparent") if isinstance(meta, Mapping) else None
    parts = parent.split("-") if isinstance(parent, str) else []
    return parts[1] if len(parts) >= 4 and len(parts[1]) == 32 else None
