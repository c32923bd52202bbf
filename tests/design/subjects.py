"""Tools for the designer, as a server would list them."""

from __future__ import annotations

from typing import Any

from handraise.design import ToolDescription, tool_of_schema

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
MAYBE_TEXT = {"anyOf": [TEXT, {"type": "null"}], "default": None}
LIST = {"type": "array", "items": TEXT}


def tool(name: str, hints: dict[str, bool] | None = None, **arguments: dict[str, Any]) -> ToolDescription:
    """A tool with these arguments; one with a default may be missing."""
    required = [each for each, rule in arguments.items() if "default" not in rule]
    return tool_of_schema(name, "", {"properties": arguments, "required": required}, hints)


CONFIRM = tool("pay_invoice", amount={"type": "number"}, account=TEXT, memo=MAYBE_TEXT)
MANY = tool("notes_purge", folder=TEXT, dry=({"type": "boolean", "default": False}))
SEND = tool("send_mail", to=LIST, text=TEXT)
CHOOSE = tool("delete_note", title=TEXT)
TIMEZONE = tool("schedule_meeting", title=TEXT, timezone=MAYBE_TEXT)
REPOSITORY = tool("open_issue", title=TEXT, repository=MAYBE_TEXT)
DEPLOY = tool("deploy", version=TEXT, environment=MAYBE_TEXT)
PAGE = tool("connect_shop", host=TEXT, api_key=TEXT)

WORTH_ASKING = (CONFIRM, MANY, SEND, CHOOSE, TIMEZONE, REPOSITORY, DEPLOY, PAGE)
