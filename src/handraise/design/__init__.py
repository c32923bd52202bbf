"""The form designer: from a tool to the question that it should ask, or the reason why it should not."""

from handraise.design.decide import Refusal
from handraise.design.functions import (
    Argument,
    ToolDescription,
    load_function,
    tool_of_function,
    tool_of_schema,
)
from handraise.design.proposal import Branch, Proposal, propose

__all__ = [
    "Argument",
    "Branch",
    "Proposal",
    "Refusal",
    "ToolDescription",
    "load_function",
    "propose",
    "tool_of_function",
    "tool_of_schema",
]
