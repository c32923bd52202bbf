"""A form as the requested schema of one revision: only what that revision knows is sent.

What cannot be sent is still checked when the answer comes: a `pattern` (2025-11-25 only), and on
2025-06-18 every default but a flag's. Titles go out there as `enumNames`. A multiple choice cannot
be asked there at all.
"""

from __future__ import annotations

from typing import Any

from handraise.errors import NotSupported
from handraise.forms.fits import Rule, fits_choice, fits_choices, fits_flag
from handraise.forms.form import Form
from handraise.forms.properties import listing_of
from handraise.revisions import Revision


def dump_form(form: Form[Any], revision: Revision) -> dict[str, Any]:
    """The requested schema of a form. The same object each time; do not change it.

    NotSupported when the form has a multiple choice and the revision has none.
    """
    if form.dumps is None:
        form.dumps = {}
    dumped = form.dumps.get(revision)
    if dumped is None:
        dumped = form.dumps[revision] = _dump(form, revision)
    return dumped


def _dump(form: Form[Any], revision: Revision) -> dict[str, Any]:
    properties = {name: _property(name, rule, revision) for name, rule in form.rules.items()}
    dumped = {**form.top, "properties": properties}
    if "required" in dumped:
        dumped["required"] = list(form.required)
    if revision is Revision.JUNE_2025:
        dumped.pop("$schema", None)
    return dumped


def _property(name: str, rule: Rule, revision: Revision) -> dict[str, Any]:
    fits, schema = rule[0], rule[1]
    if fits is fits_choice:
        schema = _choice(schema, rule[2], revision)
    elif fits is fits_choices:
        schema = _choices(name, schema, rule[2], revision)
    left_out = set()
    if revision is not Revision.NOVEMBER_2025:
        left_out.add("pattern")
    if revision is Revision.JUNE_2025 and fits is not fits_flag:
        left_out.add("default")
    return {key: value for key, value in schema.items() if key not in left_out}


def _choice(schema: dict[str, Any], options: dict[str, str | None], revision: Revision) -> dict[str, Any]:
    if "oneOf" in schema and revision is not Revision.JUNE_2025:
        return {**schema, "oneOf": listing_of(options)}
    listed = {key: value for key, value in schema.items() if key not in {"oneOf", "enumNames"}}
    listed["enum"] = list(options)
    if "enum" not in schema or "enumNames" in schema:
        listed["enumNames"] = list(options.values())
    return listed


def _choices(
    name: str, schema: dict[str, Any], options: dict[str, str | None], revision: Revision
) -> dict[str, Any]:
    if revision is Revision.JUNE_2025:
        raise NotSupported("form", f"{name}: a multiple choice cannot be asked on 2025-06-18")
    dumped = {**schema}
    if "anyOf" in schema["items"]:
        dumped["items"] = {**schema["items"], "anyOf": listing_of(options)}
    else:
        dumped["items"] = {**schema["items"], "enum": list(options)}
    return dumped
