"""The SDK's client, with exactly the declared modes, the -32042 handshake, and calls that a desk can name."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, Self

from mcp import Client, ClientSession
from mcp_types import SERVER_INFO_META_KEY

from handraise.client.asking_first import AskingFirst
from handraise.client.consent import Consent
from handraise.client.declare import declare_exactly
from handraise.client.roots import Folders


class ConsentClient(Client):
    """`mcp.Client`, for hosts that ask people.

    Two private methods of the SDK's are extended, and a test pins each: `_build_session`, where it is decided what
    is declared, and `_drive_input_required`, where a retry is sent.
    """

    def __init__(self, target: Any, consent: Consent, **options: Any) -> None:
        self.consent = consent
        self._asking = AskingFirst(
            consent, self, options.pop("message_handler", None), options.get("client_info")
        )
        super().__init__(
            target,
            elicitation_callback=consent.__call__,
            list_roots_callback=consent.list_roots,
            message_handler=self._asking.observe,
            **options,
        )

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        if (claimed := self.server_info) is not None:
            self.consent.hear_claim(claimed.name, claimed.version)
        return self

    async def __aexit__(self, *failure: Any) -> None:
        try:
            await super().__aexit__(*failure)
        finally:
            await self.consent.aclose()

    async def change_roots(self, folders: Folders, *, allowed: bool = False) -> bool:
        """Have another set of roots; True when the server was told. `allowed`: the user named them for this server."""
        return await self._asking.change_roots(folders, allowed=allowed)

    async def check_roots(self) -> bool:
        """Look whether the roots can still be reached; True when that changed and the server was told."""
        return await self._asking.check_roots()

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None, *args: Any, **options: Any
    ) -> Any:
        """Call a tool; what is required first is asked for, then the call is made again."""
        call_tool = super().call_tool
        return await self._asking.call(
            name, arguments, lambda: call_tool(name, arguments, *args, **options), meta=options.get("meta")
        )

    async def get_prompt(
        self, name: str, arguments: dict[str, str] | None = None, *args: Any, **options: Any
    ) -> Any:
        """Get a prompt; what is required first is asked for, then the request is made again."""
        get_prompt = super().get_prompt
        return await self._asking.call(
            name,
            arguments,
            lambda: get_prompt(name, arguments, *args, **options),
            "prompts/get",
            options.get("meta"),
        )

    async def read_resource(self, uri: str, *args: Any, **options: Any) -> Any:
        """Read a resource; what is required first is asked for, then the request is made again."""
        read_resource = super().read_resource
        return await self._asking.call(
            uri, None, lambda: read_resource(uri, *args, **options), "resources/read", options.get("meta")
        )

    async def _build_session(self, exit_stack: AsyncExitStack) -> ClientSession:
        session = await super()._build_session(exit_stack)
        declare_exactly(session, self.consent)
        return session

    async def _drive_input_required(self, first: Any, retry: Any) -> Any:
        claimed = (first.meta or {}).get(SERVER_INFO_META_KEY)  # without a handshake, every result may say it
        if isinstance(claimed, Mapping) and isinstance(claimed.get("name"), str):
            self.consent.hear_claim(claimed["name"], str(claimed.get("version", "")))
        return await super()._drive_input_required(first, self._asking.retrying(first, retry))
