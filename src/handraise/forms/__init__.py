"""Forms: fields, made from Python types or by hand, to and from the wire, and checking an answer."""

from handraise.forms.check import check_answer, read_answer
from handraise.forms.dump import dump_form
from handraise.forms.fields import (
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
)
from handraise.forms.form import Form
from handraise.forms.limits import DEFAULT_LIMITS, Limits, load_json, measure, require_bounded, write_json
from handraise.forms.parse import check_form, parse_form
from handraise.forms.problem import Problem

__all__ = [
    "DEFAULT_LIMITS",
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
    "load_json",
    "measure",
    "parse_form",
    "read_answer",
    "require_bounded",
    "write_json",
]
