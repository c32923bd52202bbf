"""The SDK's client, with exactly the declared modes, the -32042 handshake, and calls that a desk can name."""

from __future__ import annotations

from typing import Any, Self

from handraise.client.asking_first import AskingFirst
from handraise.client.consent import Consent
from handraise.client.roots import Folders
from handraise.sdk.client import Callbacks, open_client, watch_rounds


class ConsentClient:
    """A client for hosts that ask people, on any release of the SDK.

    It has every method of the SDK's client: of `mcp.Client` on mcp 2.x, of `ClientSession` on mcp 1.x. `options` are
    the SDK's, with `mode` ("auto", "legacy" or a revision) on both.
    """

    def __init__(self, target: Any, consent: Consent, **options: Any) -> None:
        self.consent = consent
        self._asking = AskingFirst(
            consent, self, options.pop("message_handler", None), options.get("client_info")
        )
        callbacks = Callbacks(consent.__call__, consent.list_roots, self._asking.observe)
        self._client: Any = open_client(target, callbacks, consent.declare, **options)

    def __getattr__(self, name: str) -> Any:
        if name == "_client":
            raise AttributeError(name)
        return getattr(self._client, name)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        watch_rounds(self._client.session, self._asking.send)
        if (claimed := self._client.server_info) is not None:
            self.consent.hear_claim(claimed.name, claimed.version)
        return self

    async def __aexit__(self, *failure: Any) -> None:
        try:
            await self._client.__aexit__(*failure)
        finally:
            await self.consent.aclose()

    @property
    def session(self) -> Any:
        """The SDK's session."""
        return self._client.session

    async def change_roots(self, folders: Folders, *, allowed: bool = False) -> bool:
        """Change the roots; True when the server was told. `allowed`: the user chose them for this server."""
        return await self._asking.change_roots(folders, allowed=allowed)

    async def check_roots(self) -> bool:
        """Check whether the roots can still be read; True when that changed and the server was told."""
        return await self._asking.check_roots()

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None, *args: Any, **options: Any
    ) -> Any:
        """Call a tool. After a -32042, ask for what is required and call again."""
        call_tool = self._client.call_tool
        return await self._asking.call(
            name, arguments, lambda: call_tool(name, arguments, *args, **options), meta=options.get("meta")
        )

    async def get_prompt(
        self, name: str, arguments: dict[str, str] | None = None, *args: Any, **options: Any
    ) -> Any:
        """Get a prompt. After a -32042, ask for what is required and try again."""
        get_prompt = self._client.get_prompt
        return await self._asking.call(
            name,
            arguments,
            lambda: get_prompt(name, arguments, *args, **options),
            "prompts/get",
            options.get("meta"),
        )

    async def read_resource(self, uri: str, *args: Any, **options: Any) -> Any:
        """Read a resource. After a -32042, ask for what is required and try again."""
        read_resource = self._client.read_resource
        return await self._asking.call(
            uri, None, lambda: read_resource(uri, *args, **options), "resources/read", options.get("meta")
        )
