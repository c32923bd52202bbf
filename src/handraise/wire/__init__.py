"""The three revisions of the protocol, as far as asking goes: messages to and from questions and answers.

Nothing here needs the SDK; the tests hold every message against its models.
"""

from handraise.wire.answers import WireAnswer, dump_answer, parse_answer
from handraise.wire.capabilities import (
    CAPABILITIES_META_KEY,
    Capabilities,
    dump_capabilities,
    dump_missing_capability,
    parse_capabilities,
    parse_missing_capability,
)
from handraise.wire.codes import (
    COMPLETE,
    ELICIT,
    INVALID_PARAMS,
    LIST_ROOTS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    SAMPLE,
    URL_REQUIRED,
)
from handraise.wire.faults import Fault, dump_fault, parse_fault, undeclared_mode
from handraise.wire.notices import dump_completion, parse_completion
from handraise.wire.questions import (
    dump_input_request,
    dump_question,
    dump_url_required,
    parse_question,
    parse_url_required,
)
from handraise.wire.rounds import (
    InputRequired,
    dump_input_required,
    dump_input_responses,
    parse_input_required,
    parse_input_responses,
    parse_retry,
)
from handraise.wire.trace import parse_trace

__all__ = [
    "CAPABILITIES_META_KEY",
    "COMPLETE",
    "ELICIT",
    "INVALID_PARAMS",
    "LIST_ROOTS",
    "METHOD_NOT_FOUND",
    "MISSING_CAPABILITY",
    "SAMPLE",
    "URL_REQUIRED",
    "Capabilities",
    "Fault",
    "InputRequired",
    "WireAnswer",
    "dump_answer",
    "dump_capabilities",
    "dump_completion",
    "dump_fault",
    "dump_input_request",
    "dump_input_required",
    "dump_input_responses",
    "dump_missing_capability",
    "dump_question",
    "dump_url_required",
    "parse_answer",
    "parse_capabilities",
    "parse_completion",
    "parse_fault",
    "parse_input_required",
    "parse_input_responses",
    "parse_missing_capability",
    "parse_question",
    "parse_retry",
    "parse_trace",
    "parse_url_required",
    "undeclared_mode",
]
