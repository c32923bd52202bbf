"""FastMCP's client, for hosts that ask people (extra `fastmcp`)."""

from __future__ import annotations

from typing import Any

from handraise.client.consent import Consent
from handraise.client.consent_client import CallRunner
from handraise.client.roots import Folders
from handraise.sdk.client import Callbacks, as_protocol_error, dumped, is_error_data, watch_rounds
from handraise.sdk.fastmcp_client import (
    CallbackTransport,
    Client,
    ElicitationHandler,
    ElicitResult,
    inner_transport,
)


def elicitation_handler(consent: Consent) -> ElicitationHandler:
    """`consent` in the shape that `fastmcp.Client(…, elicitation_handler=…)` takes.

    FastMCP then declares both modes whatever the desk can show, and turns a refusal of ours into error -32603;
    `FastMCPConsentClient` does neither.
    """

    async def handle(_message: str, _type: Any, params: Any, context: Any) -> Any:
        answer = await consent(context, params)
        if is_error_data(answer):
            raise as_protocol_error(answer)
        # FastMCP 2 and 3 take anything but their own result class for the content of an accept.
        return ElicitResult.model_validate(dumped(answer))

    return handle


class FastMCPConsentClient(Client[Any]):
    """`fastmcp.Client` with the additions of `ConsentClient`."""

    def __init__(self, transport: Any, consent: Consent, **options: Any) -> None:
        self.consent = consent
        self._runner = CallRunner(
            consent, self, options.pop("message_handler", None), options.get("client_info")
        )
        about_transport = {name: options.pop(name) for name in ("auth", "verify") if name in options}
        around = CallbackTransport(
            inner_transport(transport, **about_transport),
            Callbacks(consent.__call__, consent.list_roots, None),
            consent.declare,
            meet=lambda session: watch_rounds(session, self._runner.send),
        )
        super().__init__(
            around,
            message_handler=self._runner.observe,
            elicitation_handler=elicitation_handler(consent),  # for questions of FastMCP's own tasks
            **options,
        )

    def new(self) -> FastMCPConsentClient:
        """Another client of the same server, with the same person."""
        fresh = super().new()
        assert isinstance(fresh, FastMCPConsentClient)
        fresh._runner = self._runner.serving(fresh)
        return fresh

    async def change_roots(self, folders: Folders, *, allowed: bool = False) -> bool:
        """Change the roots; True when the server was told. `allowed`: the user chose them for this server."""
        return await self._runner.change_roots(folders, allowed=allowed)

    async def check_roots(self) -> bool:
        """Check whether the roots can still be read; True when that changed and the server was told."""
        return await self._runner.check_roots()

    async def call_tool_mcp(self, name: str, arguments: dict[str, Any], *args: Any, **options: Any) -> Any:
        """Call a tool. After a -32042, ask for what is required and call again."""
        return await self._runner.call("tools/call", super().call_tool_mcp, name, arguments, *args, **options)

    async def get_prompt_mcp(
        self, name: str, arguments: dict[str, Any] | None = None, *args: Any, **options: Any
    ) -> Any:
        """Get a prompt. After a -32042, ask for what is required and try again."""
        return await self._runner.call(
            "prompts/get", super().get_prompt_mcp, name, arguments, *args, **options
        )

    async def read_resource_mcp(self, uri: Any, *args: Any, **options: Any) -> Any:
        """Read a resource. After a -32042, ask for what is required and try again."""
        return await self._runner.call("resources/read", super().read_resource_mcp, uri, *args, **options)
