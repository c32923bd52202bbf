"""Rules about how to ask: what a form asks for, where a link leads, and which revisions a question works on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

from handraise.errors import FormError, UnsafeUrl
from handraise.forms import Field, Flag, Form, Number, Text
from handraise.lint.questions import (
    QuestionSite,
    WrittenField,
    WrittenForm,
    all_question_sites,
    is_resolver,
    own_question_sites,
    written_form,
)
from handraise.lint.source import Function, LintCheck, LintMark, SourceFile, position_of, written_text
from handraise.lint.tools import effects
from handraise.policy.policy import urls_in_text
from handraise.policy.rules import Facts
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
_NO_WEB_ADDRESSES: Final = urls_in_text("refuse")


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


_VOLATILE = re.compile(
    r"(?:.*\.)?(?:now|utcnow|today|time|time_ns|monotonic|perf_counter|uuid1|uuid4|random|randint|choice|token_\w+)"
)
_CLOCKS = ("datetime", "date", "time", "uuid", "random", "secrets")


def _no_back_channel(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        if site.style in ("context", "session"):
            yield site.node, "This fails on 2026-07-28, which has no requests from server to client."


def _run_again(source: SourceFile) -> Iterator[LintMark]:
    for function in source.functions:
        if is_resolver(source, function):
            found = min(effects(source, function), key=position_of, default=None)
            if found is not None:
                yield found, f"`{function.name}` runs again in every round, and this with it."
            continue
        for asking, sentence in _interrupted(source, function):
            found = _effect_before(source, function, asking)
            if found is not None:
                yield found, sentence
                break


def _interrupted(source: SourceFile, function: Function) -> Iterator[tuple[ast.AST, str]]:
    """Where a body stops on 2026-07-28, last place first, each with what happens to the effects before it."""
    for call in reversed(list(source.calls(function))):
        own = source.function_of(call) is function
        if own and source.last_name(call.func) == "InputRequiredResult":
            yield call, "The client calls again with the answer, and this runs a second time."
    for site in reversed(own_question_sites(source, function)):
        if site.style in ("context", "session"):
            yield site.node, "On 2026-07-28 this has happened when the question behind it fails the call."


def _replayed(source: SourceFile) -> Iterator[LintMark]:
    for function in source.functions:
        if not any(source.last_name(each) == "replayable" for each in function.decorator_list):
            continue
        for site in reversed(own_question_sites(source, function)):
            found = _effect_before(source, function, site.node)
            if found is not None:
                yield (
                    found,
                    f"`{function.name}` may run again from the top after a restart, and this with it.",
                )
                break


def _effect_before(source: SourceFile, function: Function, asking: ast.AST) -> ast.AST | None:
    """The first change after which a function still reaches the question."""
    found = (each for each in effects(source, function) if _leads_to(source, each, asking))
    return min(found, key=position_of, default=None)


def _leads_to(source: SourceFile, effect: ast.AST, asking: ast.AST) -> bool:
    if position_of(effect) >= position_of(asking) or any(
        above is effect for above in source.ancestors(asking)
    ):
        return False
    around = set(source.ancestors(asking))
    for above in source.ancestors(effect):
        if isinstance(above, ast.Call) and source.last_name(above.func) == "once":
            return False
        if isinstance(above, ast.If | ast.match_case | ast.ExceptHandler) and above not in around:
            other = above.orelse if isinstance(above, ast.If) else []
            block = other if _is_in(effect, other) else above.body
            if isinstance(block[-1], ast.Return | ast.Raise):
                return False
    return True


def _is_in(node: ast.AST, block: list[ast.stmt]) -> bool:
    return any(node is each for statement in block for each in ast.walk(statement))


def _volatile(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        if site.style in ("resolver", "request") and site.message is not None:
            found = next(
                (call for call in _calls_for(source, site.message) if _is_volatile(source, call)), None
            )
            if found is not None:
                yield site.message, f"`{ast.unparse(found)}` is different in every round."


def _calls_for(source: SourceFile, message: ast.expr) -> Iterator[ast.Call]:
    """The calls that a message is made from, through the names in it."""
    for node in ast.walk(message):
        if isinstance(node, ast.Call):
            yield node
        if isinstance(node, ast.Name) and (value := source.value_of(node)) is not None:
            yield from (each for each in ast.walk(value) if isinstance(each, ast.Call))


def _is_volatile(source: SourceFile, call: ast.Call) -> bool:
    name = source.dotted(call.func)
    return _VOLATILE.fullmatch(name) is not None and name.partition(".")[0] in _CLOCKS


def _legacy_error(source: SourceFile) -> Iterator[LintMark]:
    for call in source.calls():
        if source.last_name(call.func) == "UrlElicitationRequiredError":
            yield call, "Error -32042 exists on 2025-11-25 only."


CHECKS: Final[Mapping[str, LintCheck]] = {
    "HR101": _secrets,
    "HR102": _nested,
    "HR103": _empty,
    "HR104": _large,
    "HR301": _unsafe,
    "HR302": _in_text,
    "HR401": _no_back_channel,
    "HR402": _run_again,
    "HR403": _volatile,
    "HR404": _legacy_error,
    "HR405": _replayed,
}
