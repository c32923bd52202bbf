"""Rules about what a form asks for, and about links in URL questions and in the text of forms."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

from handraise.errors import FormError, UnsafeUrl
from handraise.forms import Field, Flag, Form, Number, Text
from handraise.lint.questions import QuestionSite, WrittenField, WrittenForm, all_question_sites, written_form
from handraise.lint.source import LintCheck, LintMark, SourceFile, written_text
from handraise.policy.policy import urls_in_text
from handraise.policy.rules import Facts
from handraise.policy.tables import FormSettings
from handraise.questions import FormQuestion, Origin
from handraise.secrets import judge_form
from handraise.urls import REASONS, require_safe_url


def written_forms(source: SourceFile) -> Iterator[tuple[QuestionSite, WrittenForm]]:
    """Every question whose form can be read."""
    for site in all_question_sites(source):
        if (form := written_form(source, site)) is not None:
            yield site, form


def as_form(written: WrittenForm) -> Form[object]:
    """The readable part of a written form, as the detector wants it."""
    return Form.by_hand(*(field for each in written.fields if (field := _as_field(each)) is not None))


def _as_field(field: WrittenField) -> Field | None:
    makers = {"text": Text, "number": Number, "flag": Flag}
    maker = makers.get(field.kind)
    try:
        made = None if maker is None else maker(field.name, title=field.title, description=field.description)
        Form.by_hand(*([made] if made else []))
    except FormError:
        return None
    return made


def _secrets(source: SourceFile) -> Iterator[LintMark]:
    for site, form in written_forms(source):
        places = {field.name: field.node for field in form.fields}
        for field in form.fields:
            if field.kind == "secret":
                yield field.node, f"The field {field.name!r} asks for a secret."
        for found in judge_form(written_text(source, site.message) or "", as_form(form)):
            if not found.doubtful:
                yield places.get(found.field or "", site.node), found.reason


def _nested(source: SourceFile) -> Iterator[LintMark]:
    for _, form in written_forms(source):
        for field in form.fields:
            if field.kind == "nested":
                yield field.node, f"The field {field.name!r} is no single value, and a form is flat."


def _empty(source: SourceFile) -> Iterator[LintMark]:
    for site, form in written_forms(source):
        if not form.fields:
            yield site.node, "This form has no fields."


def _large(source: SourceFile) -> Iterator[LintMark]:
    limits = source.limits
    for site in all_question_sites(source):
        size = len((written_text(source, site.message) or "").encode())
        if site.message is not None and size > limits.message:
            yield site.message, f"The message has {size:,} bytes; {limits.message:,} are allowed."
        form = written_form(source, site)
        if form is not None and len(form.fields) > limits.fields:
            yield site.node, f"The form has {len(form.fields)} fields; {limits.fields} are allowed."
        for given in (*site.node.args, *(keyword.value for keyword in site.node.keywords)):
            if (count := _options(source, given)) > limits.options:
                yield given, f"There are {count:,} options; {limits.options:,} are allowed."


def _options(source: SourceFile, expression: ast.expr) -> int:
    """How many options a list has, as far as that can be read."""
    match expression:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return len(parts)
        case ast.Dict(keys=keys):
            return len(keys)
        case ast.ListComp(generators=[ast.comprehension(iter=over, ifs=[])]):
            return _options(source, over)
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))]):
            return count
        case ast.Name() if (value := source.value_of(expression)) is not None and not isinstance(
            value, ast.Name
        ):
            return _options(source, value)
        case _:
            return 0


_GAP: Final = "placeholder"
_PORT: Final = re.compile(f":{_GAP}(?=[/?#]|$)")
_UNKNOWN_HOST: Final = re.compile(rf"[a-z]+://{_GAP}")
_NO_WEB_ADDRESSES: Final = urls_in_text(FormSettings(urls_in_text="refuse"))


def _unsafe(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        excused = {"insecure_http"} if _allows_http(site) else set()
        for expression in site.urls:
            for reason in _reasons(written_text(source, expression, _GAP)):
                if reason not in excused:
                    yield expression, REASONS[reason].sentence


def _reasons(written: str | None) -> tuple[str, ...]:
    """Why this link may not be sent. A value that is known only at run time counts as good."""
    if written is None:
        return ()
    link = _PORT.sub(":8000", written)
    if link.startswith(_GAP):
        link = link.replace(_GAP, "https://server.example.com", 1)
    try:
        require_safe_url(link)
    except UnsafeUrl as error:
        doubtful = {"insecure_http"} if _UNKNOWN_HOST.match(link) else set()
        return tuple(reason for reason in error.reasons if reason not in doubtful)
    return ()


def _allows_http(site: QuestionSite) -> bool:
    return any(
        each.arg == "unsafe_plain_http" and isinstance(each.value, ast.Constant) and each.value.value is True
        for each in site.node.keywords
    )


def _in_text(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        if site.is_form and _mentions_address(written_text(source, site.message), written_form(source, site)):
            yield site.message or site.node, "The text of this form contains a web address."


def _mentions_address(message: str | None, form: WrittenForm | None) -> bool:
    question = FormQuestion(message or "", as_form(form or WrittenForm(())))
    return _NO_WEB_ADDRESSES.decide(Facts(question, Origin("", ""))).verdict != "allow"


CHECKS: Final[Mapping[str, LintCheck]] = {
    "HR101": _secrets,
    "HR102": _nested,
    "HR103": _empty,
    "HR104": _large,
    "HR301": _unsafe,
    "HR302": _in_text,
}
