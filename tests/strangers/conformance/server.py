"""The conformance suite's fixture server, written with `ask` throughout.

`python -m tests.strangers.conformance.server PORT` starts it. Tool names, keys, messages and forms are what the suite
looks for. `unsafe_preanswer=True` stands where the suite answers before it was asked.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

from tests.strangers.conformance.generation import Context, MCPDeprecationWarning, make_server, serve

from handraise import Accepted, Answer, Handraise, NotSupported, ask
from handraise.forms import Choice, Flag, Form, Integer, Number, Text, parse_form
from handraise.revisions import Revision

NAME = Form.by_hand(Text("name"))
CONFIRM = Form.by_hand(Flag("ok"))

_PLAIN = ["option1", "option2", "option3"]
_TITLED = [
    {"const": "value1", "title": "First Choice"},
    {"const": "value2", "title": "Second Choice"},
    {"const": "value3", "title": "Third Choice"},
]
# Read from the wire, because a form made by hand has `enumNames` on 2025-06-18 only.
EVERY_CHOICE = parse_form(
    {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": _PLAIN},
            "titledSingle": {"type": "string", "oneOf": _TITLED},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _PLAIN}},
            "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
        },
    },
    Revision.NOVEMBER_2025,
)

server = make_server("asking")
Handraise().install(server)


def content(answer: Answer[Mapping[str, object]]) -> str:
    """What the person sent, as the suite's documents want to read it."""
    return json.dumps(answer.data) if isinstance(answer, Accepted) else "{}"


# 2025-06-18 and 2025-11-25: the question goes down the live call.


@server.tool()
async def test_elicitation(message: str) -> str:
    """Ask for a name and an address."""
    form = Form.by_hand(
        Text("username", description="User's response"),
        Text("email", description="User's email address"),
    )
    answer = await ask(message, form)
    return f"User response: <action: {answer.action}, content: {content(answer)}>"


@server.tool()
async def test_elicitation_sep1034_defaults() -> str:
    """Ask with a default of every type."""
    form = Form.by_hand(
        Text("name", default="John Doe", required=False),
        Integer("age", default=30, required=False),
        Number("score", default=95.5, required=False),
        Choice("status", ["active", "inactive", "pending"], default="active", required=False),
        Flag("verified", default=True, required=False),
    )
    answer = await ask("Please review what is filled in", form)
    return f"Elicitation completed: action={answer.action}, content={content(answer)}"


@server.tool()
async def test_elicitation_sep1330_enums() -> str:
    """Ask with a choice of every shape."""
    answer = await ask("Please choose", EVERY_CHOICE)
    return f"Elicitation completed: action={answer.action}, content={content(answer)}"


@server.tool()
async def test_sampling(prompt: str) -> str:
    """Ask the client's model."""
    reply = await ask.model(prompt, max_tokens=100)
    return f"LLM response: {reply.text}"


# 2026-07-28: the question ends the round.


@server.tool()
async def test_input_required_result_elicitation() -> str:
    """Ask for a name."""
    answer = await ask("What is your name?", NAME, key="user_name", unsafe_preanswer=True)
    return f"Hello, {answer.or_stop()['name']}!"


@server.tool()
async def test_input_required_result_sampling() -> str:
    """Ask the client's model."""
    reply = await ask.model("What is the capital of France?", max_tokens=100, key="capital_question")
    return f"The model says: {reply.text}"


@server.tool()
async def test_input_required_result_list_roots() -> str:
    """Ask for the client's roots."""
    roots = await ask.roots(key="client_roots")
    return f"Roots: {', '.join(root.uri for root in roots)}"


@server.tool()
async def test_input_required_result_request_state() -> str:
    """Ask for a confirmation."""
    answer = await ask("Please confirm", CONFIRM, key="confirm")
    return f"state-ok: {answer.or_stop()['ok']}"


@server.tool()
async def test_input_required_result_multiple_inputs() -> str:
    """Ask the person, the model and for the roots, in one round."""
    answers: dict[str, Any] = await ask.all(
        user_name=ask("What is your name?", NAME),
        greeting=ask.model("Generate a greeting", max_tokens=50),
        client_roots=ask.roots(),
    )
    name = answers["user_name"].or_stop()["name"]
    return f"{answers['greeting'].text} {name}, {len(answers['client_roots'])} roots"


@server.tool()
async def test_input_required_result_multi_round() -> str:
    """Ask twice, one question after the other."""
    name = (await ask("Step 1: What is your name?", NAME, key="step1")).or_stop()["name"]
    question = "Step 2: What is your favorite color?"
    color = (await ask(question, Form.by_hand(Text("color")), key="step2")).or_stop()["color"]
    return f"{name} likes {color}."


@server.tool()
async def test_input_required_result_tampered_state() -> str:
    """Ask for a confirmation whose state the suite will change."""
    answer = await ask("Please confirm", CONFIRM, key="confirm")
    return f"Confirmed: {answer.or_stop()['ok']}"


@server.tool()
async def test_input_required_result_capabilities() -> str:
    """Ask the person, or the model where the person cannot be asked."""
    try:
        answer = await ask("What is your name?", NAME, key="user_name")
    except NotSupported:
        reply = await ask.model("Invent a name.", max_tokens=50, key="invented_name")
        return f"Hello, {reply.text}!"
    return f"Hello, {answer.or_stop()['name']}!"


@server.prompt()
async def test_input_required_result_prompt() -> str:
    """A prompt that depends on an answer."""
    answer = await ask(
        "What context should the prompt use?", Form.by_hand(Text("context")), key="user_context"
    )
    return f"Use this context: {answer.or_stop()['context']}"


@server.tool()
async def test_streaming_elicitation() -> str:
    """Ask while the response is a stream."""
    answer = await ask("What is your name?", NAME, key="user_name")
    return f"Hello, {answer.or_stop()['name']}!"


@server.tool()
async def test_missing_capability() -> str:
    """Need a model, whatever the client declared."""
    reply = await ask.model("Say something.", max_tokens=10)
    return reply.text


# What else the suite looks for in a server of 2026-07-28.


@server.tool()
async def test_logging_tool(ctx: Context) -> str:
    """Log something that only a client which wanted it may see."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)  # 2026-07-28 wants less of it, not none
        await ctx.info("working")
    return "Done."


@server.tool()
async def test_trigger_tool_change(ctx: Context) -> str:
    """Say that the list of tools changed."""
    await ctx.notify_tools_changed()
    return "Done."


@server.tool()
async def test_trigger_prompt_change(ctx: Context) -> str:
    """Say that the list of prompts changed."""
    await ctx.notify_prompts_changed()
    return "Done."


if __name__ == "__main__":
    serve(server)
