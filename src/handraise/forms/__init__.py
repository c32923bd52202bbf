"""Forms: fields, made from Python types or by hand, to and from the wire, and checking an answer."""

from handraise.forms.check import check_answer, exclusive_bound, read_answer
from handraise.forms.fields import (
    ANSWER,
    UNSET,
    Choice,
    Choices,
    Field,
    Flag,
    Integer,
    Number,
    Option,
    Text,
    Value,
    label_of,
)
from handraise.forms.form import Form, dump_form
from handraise.forms.parse import check_form, parse_form
from handraise.forms.values import (
    DEFAULT_LIMITS,
    SIZE_RULES,
    UNLIMITED,
    Limits,
    Problem,
    load_json,
    measure,
    require_bounded,
    require_message,
    write_json,
)

__all__ = [
    "ANSWER",
    "DEFAULT_LIMITS",
    "SIZE_RULES",
    "UNLIMITED",
    "UNSET",
    "Choice",
    "Choices",
    "Field",
    "Flag",
    "Form",
    "Integer",
    "Limits",
    "Number",
    "Option",
    "Problem",
    "Text",
    "Value",
    "check_answer",
    "check_form",
    "dump_form",
    "exclusive_bound",
    "label_of",
    "load_json",
    "measure",
    "parse_form",
    "read_answer",
    "require_bounded",
    "require_message",
    "write_json",
]
