"""The three ways in which a client reaches a body: as a tool, as a prompt and as a resource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from tests.server.peers import text_of
from tests.server.rounds import Rounds, accepted


class Ended(Exception):
    """A call ended in an error: its sentence, and the code if it is the protocol's."""

    def __init__(self, sentence: str, code: int | None = None, data: Any = None) -> None:
        super().__init__(sentence)
        self.sentence, self.code, self.data = sentence, code, data


@dataclass(frozen=True, slots=True)
class Way:
    """One of the three methods in which a server may ask."""

    method: str

    def __str__(self) -> str:
        return self.method.partition("/")[0]

    async def call(self, client: Client, body: str, run: str) -> str:
        """What a body gives, by the SDK's client. Raises `Ended` for what is no result."""
        try:
            if self.method == "tools/call":
                result = await client.call_tool(body, {"run": run})
                if result.is_error:
                    raise Ended(text_of(result))
                return text_of(result)
            if self.method == "prompts/get":
                prompt = await client.get_prompt(body, {"run": run})
                return str(prompt.messages[0].content.text)  # type: ignore[union-attr]
            read = await client.read_resource(self.target(body, run))
            return str(read.contents[0].text)  # type: ignore[union-attr]
        except MCPError as error:
            raise Ended(error.message, error.code, error.data) from None

    async def ending(self, client: Client, body: str, run: str) -> str:
        """The sentence that a call ends with, which has to be an error."""
        with pytest.raises(Ended) as ended:
            await self.call(client, body, run)
        assert (ended.value.code is None) == (self.method == "tools/call")
        return ended.value.sentence

    async def by_hand(self, rounds: Rounds, body: str, run: str, **retry: Any) -> dict[str, Any]:
        """One round of a call on 2026-07-28."""
        return await rounds.call(self.target(body, run), {"run": run}, method=self.method, **retry)

    async def answered(
        self, rounds: Rounds, body: str, run: str, before: dict[str, Any], **content: Any
    ) -> dict[str, Any]:
        """The round after one whose every question is accepted with the same content."""
        retry = {"state": before["requestState"], "responses": accepted(before, **content)}
        return await self.by_hand(rounds, body, run, **retry)

    async def failure(self, rounds: Rounds, body: str, run: str, **retry: Any) -> str:
        """The sentence that a round ends the call with, which has to be an error."""
        if self.method == "tools/call":
            result = await self.by_hand(rounds, body, run, **retry)
            assert result["isError"]
            return self.text(result)
        with pytest.raises(MCPError) as ended:
            await self.by_hand(rounds, body, run, **retry)
        return ended.value.message

    def target(self, body: str, run: str) -> str:
        """The name of a tool or prompt, or the URI of a resource."""
        return f"{body}://{run}" if self.method == "resources/read" else body

    def params(self, body: str, run: str) -> dict[str, Any]:
        """What a client sends."""
        if self.method == "resources/read":
            return {"uri": self.target(body, run)}
        return {"name": body, "arguments": {"run": run}}

    def text(self, result: dict[str, Any]) -> str:
        """The text of a result, as it is on the wire."""
        if self.method == "tools/call":
            return str(result["content"][0]["text"])
        if self.method == "prompts/get":
            return str(result["messages"][0]["content"]["text"])
        return str(result["contents"][0]["text"])


WAYS = [Way("tools/call"), Way("prompts/get"), Way("resources/read")]


async def did(rounds: Rounds, run: str) -> str:
    """The effects of a body, from the server where they happened."""
    return str((await rounds.call("effects", {"run": run}))["content"][0]["text"])
