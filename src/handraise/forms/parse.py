"""A requested schema from the wire: read within limits, or refused by the name of a rule.

Beside the rules of `rules`: `schema`, `required`, `fields`, `bytes`, `depth`, `unicode`, `json`.
"""

from __future__ import annotations

from typing import Any, NoReturn

from handraise.errors import WireError
from handraise.forms.fields import Value
from handraise.forms.form import Form
from handraise.forms.rules import FORM, PropertyReader, read_keywords
from handraise.forms.values import DEFAULT_LIMITS, Limits, Problem, kind_of
from handraise.revisions import Revision


def parse_form(schema: object, revision: Revision, limits: Limits = DEFAULT_LIMITS) -> Form[dict[str, Value]]:
    """The form that a `requestedSchema` describes; WireError names the rule that it breaks."""
    if (
        type(schema) is not dict
        or schema.get("type") != "object"
        or type(schema.get("properties")) is not dict
    ):
        _refuse_top(schema)
    properties = schema["properties"]
    if len(properties) > limits.fields:
        raise WireError("fields", f"The form has {len(properties)} fields; {limits.fields} are allowed.")
    rules = PropertyReader(revision, limits).read(properties)
    form: Form[dict[str, Value]] = Form(rules, _top(schema))
    for name in form.required:
        if type(name) is not str or name not in rules:
            raise WireError("required", "required names a field that the form does not have.")
    return form


def check_form(schema: object, revision: Revision, limits: Limits = DEFAULT_LIMITS) -> tuple[Problem, ...]:
    """Every field of a `requestedSchema` that breaks a rule; nothing when `parse_form` takes it."""
    try:
        parse_form(schema, revision, limits)
    except WireError as error:
        return tuple(_each(schema, revision, limits)) or (_problem(error, schema),)
    return ()


def _top(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without its annotations. Refusing unknown answers is what we do anyway."""
    if len(schema) == 2 or (len(schema) == 3 and type(schema.get("required")) is list):
        return schema.copy()
    top = read_keywords(None, schema, FORM)
    top.pop("additionalProperties", None)
    return top


def _refuse_top(schema: object) -> NoReturn:
    if isinstance(schema, dict) and "$ref" in schema:
        raise WireError("ref", "$ref is not allowed; a form describes each field in place.")
    raise WireError("schema", 'requestedSchema has to be {"type": "object", "properties": {…}}.')


def _each(schema: object, revision: Revision, limits: Limits) -> list[Problem]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(properties) > limits.fields:
        return []
    problems = []
    for name, described in properties.items():
        try:
            PropertyReader(revision, limits).read({name: described})
        except WireError as error:
            problems.append(_problem(error, described))
    return problems


def _problem(error: WireError, subject: object) -> Problem:
    return Problem(error.field, error.rule, error.message, kind_of(subject))
