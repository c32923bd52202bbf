"""The form designer: from a tool to the question that it should ask, or the reason why it should not."""

from handraise.design.decide import Refusal
from handraise.design.functions import load_function, subject_of_function
from handraise.design.proposal import Branch, Proposal, propose
from handraise.design.subject import Argument, Subject, subject_of_schema

__all__ = [
    "Argument",
    "Branch",
    "Proposal",
    "Refusal",
    "Subject",
    "load_function",
    "propose",
    "subject_of_function",
    "subject_of_schema",
]
