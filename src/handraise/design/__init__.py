"""The form designer: from a tool to the question that it should ask, or the reason why it should not."""

from handraise.design.decide import Refusal
from handraise.design.functions import load_function, tool_of_function
from handraise.design.proposal import Branch, Proposal, propose
from handraise.design.tool import Argument, ToolDescription, tool_of_schema

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
