"""Rules about links, in URL questions and in the text of forms."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from handraise.errors import UnsafeUrl
from handraise.lint.finding import Mark, Rule
from handraise.lint.rules.forms import as_form
from handraise.lint.sites import Site, sites
from handraise.lint.source import Source
from handraise.lint.texts import written_text
from handraise.lint.written_forms import WrittenForm, written_form
from handraise.policy.facts import Facts
from handraise.policy.standard import urls_in_text
from handraise.policy.tables import FormSettings
from handraise.questions import FormQuestion, Origin
from handraise.urls import REASONS, require_safe_url

_GAP: Final = "placeholder"
_PORT: Final = re.compile(f":{_GAP}(?=[/?#]|$)")
_UNKNOWN_HOST: Final = re.compile(rf"[a-z]+://{_GAP}")
_NO_WEB_ADDRESSES: Final = urls_in_text(FormSettings(urls_in_text="refuse"))


def _unsafe(source: Source) -> Iterator[Mark]:
    for site in sites(source):
        excused = {"insecure_http"} if _allows_http(site) else set()
        for expression in site.urls:
            for reason in _reasons(written_text(source, expression, _GAP)):
                if reason not in excused:
                    yield expression, REASONS[reason].sentence


def _reasons(written: str | None) -> tuple[str, ...]:
    """Why this link may not be sent; what is known only at run time is given the benefit of the doubt."""
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


def _allows_http(site: Site) -> bool:
    return any(
        each.arg == "unsafe_plain_http" and isinstance(each.value, ast.Constant) and each.value.value is True
        for each in site.node.keywords
    )


def _in_text(source: Source) -> Iterator[Mark]:
    for site in sites(source):
        if site.is_form and _mentions_address(written_text(source, site.message), written_form(source, site)):
            yield site.message or site.node, "The text of this form contains a web address."


def _mentions_address(message: str | None, form: WrittenForm | None) -> bool:
    question = FormQuestion(message or "", as_form(form or WrittenForm(())))
    return _NO_WEB_ADDRESSES.decide(Facts(question, Origin("", ""))).verdict != "allow"


RULES = (
    Rule(
        code="HR301",
        title="unsafe link",
        sentence="A link is unencrypted, carries credentials or personal data, signs in by itself, or deceives.",
        why=(
            "The link passes through the client and its logs, and whoever has it opens it. The protocol forbids "
            "servers to put credentials or personal data into it, and wants https outside of development."
        ),
        mend="Send a plain https link with a random id, and look the person up on your own page after they sign in.",
        wrong="""
async def connect(email: str) -> str:
    (await ask.open("Sign in to go on.", f"https://notes.example.com/in?email={email}")).or_stop()
    return "Connected."
""",
        right="""
async def connect(flow: str) -> str:
    (await ask.open("Sign in to go on.", f"https://notes.example.com/in/{flow}")).or_stop()
    return "Connected."
""",
        check=_unsafe,
    ),
    Rule(
        code="HR302",
        title="link in a form",
        sentence="The text of a form contains a web address.",
        why="A person would follow it without the warnings that a link gets. Desks warn of such forms.",
        mend="Ask a URL question instead: `ask.open` shows the whole link and asks for consent to open it.",
        wrong="""
async def agree() -> str:
    (await ask.confirm("Do you accept the terms at https://notes.example.com/terms?")).or_stop()
    return "Agreed."
""",
        right="""
async def agree() -> str:
    (await ask.open("Read the terms and accept them there.", "https://notes.example.com/terms")).or_stop()
    return "Agreed."
""",
        check=_in_text,
    ),
)
