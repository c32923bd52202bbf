"""The SDK's client, with exactly the declared modes, the -32042 handshake, and calls that a desk can name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import mcp_types as types
from mcp import Client, ClientSession
from mcp.shared.exceptions import MCPError

from handraise.client.consent import CALL, Consent
from handraise.errors import WireError
from handraise.questions import Accepted, UrlQuestion
from handraise.revisions import Revision
from handraise.wire import URL_REQUIRED, parse_url_required

T = TypeVar("T")

MAX_HANDSHAKES = 3
"""How often one call may be told that something is required first."""


class ConsentClient(Client):
    """`mcp.Client`, for hosts that ask people.

    The SDK declares both modes whenever there is a callback and has no knob for it, so the session that it builds is
    told here, in `_build_session`, to declare what the desk can show. That method is private; a test pins it.
    """

    def __init__(self, target: Any, consent: Consent, **options: Any) -> None:
        self.consent = consent
        self._flows: dict[str, asyncio.Event] = {}
        self._observer = options.pop("message_handler", None)
        super().__init__(
            target,
            elicitation_callback=consent if consent else None,
            message_handler=self._observe,
            **options,
        )

    async def _build_session(self, exit_stack: AsyncExitStack) -> ClientSession:
        session = await super()._build_session(exit_stack)
        declare = session._build_capabilities

        def declare_modes(version: str) -> types.ClientCapabilities:
            capabilities = declare(version)
            if capabilities.elicitation is not None:
                named: dict[str, Any] = {mode: {} for mode in self._modes(version)}
                capabilities.elicitation = types.ElicitationCapability.model_validate(named)
            return capabilities

        session._build_capabilities = declare_modes  # type: ignore[method-assign]
        return session

    def _modes(self, version: str) -> set[str]:
        return {mode for mode in self.consent.modes if mode == "form" or Revision(version).url_mode}

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None, *args: Any, **options: Any
    ) -> Any:
        """Call a tool; what is required first is asked for, then the call is made again."""
        return await self._asked_first(
            name,
            arguments or {},
            lambda: super(ConsentClient, self).call_tool(name, arguments, *args, **options),
        )

    async def get_prompt(
        self, name: str, arguments: dict[str, str] | None = None, *args: Any, **options: Any
    ) -> Any:
        """Get a prompt; what is required first is asked for, then the request is made again."""
        return await self._asked_first(
            name,
            arguments or {},
            lambda: super(ConsentClient, self).get_prompt(name, arguments, *args, **options),
        )

    async def read_resource(self, uri: str, *args: Any, **options: Any) -> Any:
        """Read a resource; what is required first is asked for, then the request is made again."""
        return await self._asked_first(
            uri, {}, lambda: super(ConsentClient, self).read_resource(uri, *args, **options)
        )

    async def _asked_first(
        self, name: str, arguments: Mapping[str, Any], request: Callable[[], Awaitable[T]]
    ) -> T:
        call = (name, arguments)
        self.consent.calls.append(call)
        before = CALL.set(call)
        try:
            for _ in range(MAX_HANDSHAKES):
                try:
                    return await request()
                except MCPError as error:
                    if not await self._meet(error):
                        raise
            return await request()
        finally:
            CALL.reset(before)
            self.consent.calls.remove(call)

    async def _meet(self, error: MCPError) -> bool:
        """Do what a -32042 says has to come first; False when it says nothing we may do, or the person will not."""
        revision = Revision(self.protocol_version)
        if (
            error.code != URL_REQUIRED
            or revision is not Revision.NOVEMBER_2025
            or "url" not in self.consent.modes
        ):
            return False
        try:
            questions = parse_url_required(error.data)
        except WireError:
            return False
        for question in questions:
            finished = self._flows.setdefault(str(question.elicitation_id), asyncio.Event())
            decision = await self.consent.ask(question, revision)
            if not isinstance(decision.answer, Accepted) or not await self._finished(question, finished):
                return False
        return True

    async def _finished(self, question: UrlQuestion, finished: asyncio.Event) -> bool:
        """Wait for the server's completion notice or the person's own "done", whichever comes first."""
        noticed = asyncio.ensure_future(finished.wait())
        done = asyncio.ensure_future(self.consent.wait_in_browser(question))
        try:
            await asyncio.wait({noticed, done}, return_when=asyncio.FIRST_COMPLETED)
            return noticed.done() or done.result()
        finally:
            noticed.cancel()
            done.cancel()
            self._flows.pop(str(question.elicitation_id), None)

    async def _observe(self, message: Any) -> None:
        """Hear completion notices; ids that nobody here was asked about are ignored."""
        if isinstance(message, types.ElicitCompleteNotification):
            known = message.params.elicitation_id
            if (finished := self._flows.get(known)) is not None:
                finished.set()
        if self._observer is not None:
            await self._observer(message)
