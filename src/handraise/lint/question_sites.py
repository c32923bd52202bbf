"""Where a source asks: `ask` of Handraise, the context and session of the SDK and of FastMCP, resolvers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from handraise.lint.source import Function, SourceFile

Style = Literal["handraise", "context", "session", "resolver", "request"]
"""The sender of the question: our `ask`, `ctx.elicit`, `session.elicit_form`, `Elicit(…)`, a wire message by hand."""

_OURS = re.compile(r"(?:handraise\.(?:server\.)?(?:ask\.)?)?ask(?:\.(\w+))?")
_NO_QUESTION = ("all", "sync", "roots", "model", "person")
_CONTEXT = re.compile(r"(?:.*_)?(?:ctx|context)|get_context", re.IGNORECASE)
_SESSION = re.compile(r".*session", re.IGNORECASE)
_FORM_REQUESTS = ("ElicitRequestFormParams", "ElicitRequestParams")
_URL_REQUESTS = ("ElicitRequestURLParams", "UrlQuestion")


@dataclass(frozen=True, slots=True)
class QuestionSite:
    """One place where a person is asked."""

    node: ast.Call
    style: Style
    kind: str
    """`form`, `url`, `page`, `require`, or the shortcut of `ask`: `confirm`, `choose`, `text`, …"""
    message: ast.expr | None = None
    form: ast.expr | None = None
    urls: tuple[ast.expr, ...] = ()

    @property
    def is_form(self) -> bool:
        """Whether the client shows fields for it."""
        return self.kind not in ("url", "page", "require")


def all_question_sites(source: SourceFile, within: ast.AST | None = None) -> Iterator[QuestionSite]:
    """Every place that asks a person, in the order in which they are written."""
    for call in source.calls(within):
        if (site := _site(source, call)) is not None:
            yield site


def own_question_sites(source: SourceFile, function: Function) -> list[QuestionSite]:
    """The places where a function asks itself, in the order in which they are written."""
    return [
        site for site in all_question_sites(source, function) if source.function_of(site.node) is function
    ]


def function_asks(source: SourceFile, function: Function) -> bool:
    """Whether a function asks: itself, through others of the file, by a resolver, or by a helper named for it."""
    for reached in source.reached(function):
        if next(all_question_sites(source, reached), None) or _has_resolver(source, reached):
            return True
        if any(_is_named_for_asking(source, call) for call in source.calls(reached)):
            return True
    return False


def call_argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """An argument by its place or one of its names."""
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    if position < len(call.args) and not any(isinstance(each, ast.Starred) for each in call.args):
        return call.args[position]
    return None


def our_method(source: SourceFile, call: ast.Call) -> str | None:
    """The method of Handraise's `ask` that is called, empty for `ask` itself; None for anything else."""
    found = _OURS.fullmatch(source.dotted(call.func))
    if found is None or "ask" in source.by_name or "ask" in source.classes:
        return None
    return found[1] or ""


def is_resolver(source: SourceFile, function: Function) -> bool:
    """Whether a function runs again in every round: it returns `Elicit`, or stands in a `Resolve`."""
    if any(site.style == "resolver" for site in own_question_sites(source, function)):
        return True
    resolved = (call.args for call in source.calls() if source.last_name(call.func) == "Resolve")
    return any(args and source.last_name(args[0]) == function.name for args in resolved)


def _site(source: SourceFile, call: ast.Call) -> QuestionSite | None:
    method = our_method(source, call)
    if method is not None:
        return _ours(call, method)
    name = source.last_name(call.func)
    message = call_argument(call, 0, "message")
    if name == "Elicit":
        return QuestionSite(call, "resolver", "form", message, call_argument(call, 1, "schema"))
    if name in _FORM_REQUESTS:
        schema = call_argument(call, 1, "requested_schema", "requestedSchema")
        return QuestionSite(call, "request", "form", message, schema)
    if name in _URL_REQUESTS:
        return QuestionSite(call, "request", "url", message, urls=_some(call_argument(call, 1, "url")))
    if name in ("elicit", "elicit_form", "elicit_url") and isinstance(call.func, ast.Attribute):
        return _on_the_wire(source, call, call.func)
    return None


def _ours(call: ast.Call, method: str) -> QuestionSite | None:
    if method in _NO_QUESTION:
        return None
    message = call_argument(call, 0, "message")
    match method:
        case "":
            return QuestionSite(call, "handraise", "form", message, call_argument(call, 1, "form"))
        case "open" | "outside":
            return QuestionSite(call, "handraise", "url", message, urls=_some(call_argument(call, 1, "url")))
        case "secret" | "connect" | "setup" | "page":
            return QuestionSite(call, "handraise", "page", message)
        case "require":
            return QuestionSite(call, "handraise", "require", urls=tuple(call.args))
        case _:
            return QuestionSite(call, "handraise", method, message)


def _on_the_wire(source: SourceFile, call: ast.Call, called: ast.Attribute) -> QuestionSite | None:
    style = _carrier(source, called)
    if style is None:
        return None
    message = call_argument(call, 0, "message")
    if called.attr == "elicit_url":
        return QuestionSite(call, style, "url", message, urls=_some(call_argument(call, 1, "url")))
    form = call_argument(call, 1, "schema", "response_type", "requested_schema", "requestedSchema")
    return QuestionSite(call, style, "form", message, form)


def _carrier(source: SourceFile, called: ast.Attribute) -> Style | None:
    owner = source.last_name(called.value)
    if _SESSION.fullmatch(owner) or called.attr == "elicit_form":
        return "session"
    if _CONTEXT.fullmatch(owner) or _is_annotated_context(source, called.value):
        return "context"
    return None


def _is_annotated_context(source: SourceFile, owner: ast.expr) -> bool:
    function = source.function_of(owner)
    if function is None or not isinstance(owner, ast.Name):
        return False
    parameters = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    annotations = [each.annotation for each in parameters if each.arg == owner.id and each.annotation]
    return any(source.last_name(each) == "Context" for each in annotations)


def _has_resolver(source: SourceFile, function: Function) -> bool:
    return any(source.last_name(call.func) == "Resolve" for call in source.calls(function.args))


def _is_named_for_asking(source: SourceFile, call: ast.Call) -> bool:
    """A helper from another file that says that it asks: `confirm_with_person(…)`, `ask_which(…)`."""
    name = source.last_name(call.func)
    return name.startswith(("ask_", "confirm", "elicit_", "require_confirmation", "guard"))


def _some(url: ast.expr | None) -> tuple[ast.expr, ...]:
    return () if url is None else (url,)
