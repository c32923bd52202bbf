"""FastMCP's client, for hosts that ask people (extra `fastmcp`)."""

from __future__ import annotations

from typing import Any

from mcp import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import ErrorData

from handraise.client.asking_first import AskingFirst
from handraise.client.consent import Consent
from handraise.client.declare import declare_exactly
from handraise.client.roots import Folders
from handraise.errors import SetupError

try:
    from fastmcp import Client
    from fastmcp.client.elicitation import ElicitationHandler
    from fastmcp.client.transports.base import TransportOptions
except ImportError as missing:
    raise SetupError(
        "FastMCP's client needs fastmcp. Install it with: pip install 'handraise[fastmcp]'"
    ) from missing


def elicitation_handler(consent: Consent) -> ElicitationHandler:
    """`consent` in the shape that `fastmcp.Client(…, elicitation_handler=…)` takes.

    FastMCP then declares both modes whatever the desk can show, and turns a refusal of ours into error -32603;
    `FastMCPConsentClient` does neither.
    """

    async def handle(_message: str, _type: Any, params: Any, context: Any) -> Any:
        answer = await consent(context, params)
        if isinstance(answer, ErrorData):
            raise MCPError.from_error_data(answer)
        return answer

    return handle


class FastMCPConsentClient(Client[Any]):
    """`fastmcp.Client`, with what `ConsentClient` adds to the SDK's.

    FastMCP takes the callbacks of a session from private attributes and has a session class of one's own for
    proxies only; a test pins both.
    """

    def __init__(self, transport: Any, consent: Consent, **options: Any) -> None:
        self.consent = consent
        self._asking = AskingFirst(
            consent, self, options.pop("message_handler", None), options.get("client_info")
        )
        super().__init__(transport, message_handler=self._asking.observe, **options)
        # Past FastMCP's own wrapper: it makes Python types of a hostile schema before anyone has checked it.
        self._elicitation_callback = consent.__call__
        self._session_kwargs["elicitation_callback"] = consent.__call__
        self._session_kwargs["list_roots_callback"] = consent.list_roots
        self._transport_options = TransportOptions(session_class=_declaring(consent))

    def new(self) -> FastMCPConsentClient:
        """Another client of the same server, with the same person."""
        fresh = super().new()
        assert isinstance(fresh, FastMCPConsentClient)
        fresh._asking = self._asking.serving(fresh)
        return fresh

    async def change_roots(self, folders: Folders, *, allowed: bool = False) -> bool:
        """Have another set of roots; True when the server was told. `allowed`: the user named them for this server."""
        return await self._asking.change_roots(folders, allowed=allowed)

    async def check_roots(self) -> bool:
        """Look whether the roots can still be reached; True when that changed and the server was told."""
        return await self._asking.check_roots()

    async def call_tool_mcp(self, name: str, arguments: dict[str, Any], *args: Any, **options: Any) -> Any:
        """Call a tool; what is required first is asked for, then the call is made again."""
        send = super().call_tool_mcp
        return await self._asking.call(
            name, arguments, lambda: send(name, arguments, *args, **options), meta=options.get("meta")
        )

    async def get_prompt_mcp(
        self, name: str, arguments: dict[str, Any] | None = None, *args: Any, **options: Any
    ) -> Any:
        """Get a prompt; what is required first is asked for, then the request is made again."""
        send = super().get_prompt_mcp
        return await self._asking.call(
            name,
            arguments,
            lambda: send(name, arguments, *args, **options),
            "prompts/get",
            options.get("meta"),
        )

    async def read_resource_mcp(self, uri: Any, *args: Any, **options: Any) -> Any:
        """Read a resource; what is required first is asked for, then the request is made again."""
        send = super().read_resource_mcp
        return await self._asking.call(
            str(uri), None, lambda: send(uri, *args, **options), "resources/read", options.get("meta")
        )

    async def _drive_input_required(self, first: Any, retry: Any) -> Any:
        return await super()._drive_input_required(first, self._asking.retrying(first, retry))


def _declaring(consent: Consent) -> type[ClientSession]:
    class Declaring(ClientSession):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            declare_exactly(self, consent)

    return Declaring
