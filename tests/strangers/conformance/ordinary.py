"""A server that never asks, with Handraise installed: `python -m tests.strangers.conformance.ordinary PORT`.

The conformance suite calls everything here and must not see that Handraise is there.
"""

from __future__ import annotations

import base64

from tests.strangers.conformance.generation import (
    Audio,
    Context,
    Image,
    Message,
    UserMessage,
    make_server,
    serve,
    types,
)

from handraise import Handraise

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SILENCE = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0"

server = make_server("ordinary")
Handraise().install(server)


def embedded(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    resource = {"uri": uri, "mimeType": mime_type, "text": text}
    return types.EmbeddedResource.model_validate({"type": "resource", "resource": resource})


@server.tool()
async def test_simple_text() -> str:
    """Give back a text."""
    return "This is a simple text response for testing."


@server.tool()
async def test_image_content() -> Image:
    """Give back an image."""
    return Image(data=PIXEL, format="png")


@server.tool(structured_output=False)
async def test_embedded_resource() -> list[types.EmbeddedResource]:
    """Give back a resource."""
    return [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]


@server.tool()
async def test_audio_content() -> Audio:
    """Give back a sound."""
    return Audio(data=SILENCE, format="wav")


@server.tool(structured_output=False)
async def test_multiple_content_types() -> list[str | Image | types.EmbeddedResource]:
    """Give back three kinds of content."""
    return [
        "Multiple content types test:",
        Image(data=PIXEL, format="png"),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ]


@server.tool()
async def test_error_handling() -> str:
    """Fail."""
    raise ValueError("This tool intentionally returns an error for testing")


@server.tool()
async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress three times."""
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100)
    return "Done, with progress."


@server.resource("test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    """An image."""
    return PIXEL


@server.resource("test://template/{id}/data", mime_type="application/json")
async def template(id: str) -> dict[str, object]:
    """Data by its id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@server.prompt()
async def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt()
async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:
    """A prompt with a resource inside."""
    return [
        UserMessage(embedded(resourceUri, "text/plain", "Embedded resource content for testing.")),
        UserMessage("Please process the embedded resource above."),
    ]


@server.prompt()
async def test_prompt_with_image() -> list[Message]:
    """A prompt with an image."""
    return [
        UserMessage(Image(data=PIXEL, format="png").to_image_content()),
        UserMessage(types.TextContent(type="text", text="Please analyze the image above.")),
    ]


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK left it untyped
async def complete(
    ref: types.PromptReference | types.ResourceTemplateReference,
    argument: types.CompletionArgument,
    context: types.CompletionContext | None,
) -> types.Completion:
    return types.Completion(
        values=[word for word in ("paris", "park", "party") if word.startswith(argument.value)]
    )


if __name__ == "__main__":
    serve(server)
