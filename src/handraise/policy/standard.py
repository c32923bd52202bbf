"""The standard rules: secrets, links, and URLs in text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, Literal

from handraise.forms import Choice, Choices, Flag, Text
from handraise.policy.rules import ALLOW, Facts, PolicyRule, PolicyRuling
from handraise.policy.settings import Settings
from handraise.policy.tables import DeskSettings, FormSettings, LinkSettings
from handraise.questions import TYPED, FormQuestion
from handraise.urls import REASONS

_URL: Final = re.compile(r"\b(?:[a-z][a-z0-9+.-]{1,30}://|www\.|mailto:|javascript:)\S", re.IGNORECASE)


def standard_rules(settings: Settings) -> tuple[PolicyRule, ...]:
    """The rules, as the settings have them."""
    return (
        no_credentials(settings.forms),
        doubtful_forms(settings.forms),
        national_ids(settings.forms),
        personal_data(settings.forms),
        urls_in_text(settings.forms),
        dangerous_links(settings.links),
        doubtful_links(settings.links),
        only_domains(settings.links),
    )


def why_passkey(desk: DeskSettings, facts: Facts) -> str:
    """Why accepting a question needs the person's passkey; empty when it does not.

    A server's guard cannot be told from its other confirmations. So every form that only wants a yes counts as one.
    """
    if "shared" in desk.passkey and facts.shared:
        return "This desk is shared, so accepting needs your passkey."
    typed = only_yes = False
    if isinstance(facts.question, FormQuestion) and len(fields := facts.question.form.fields) < 2:
        only_yes = all(isinstance(each, Flag) for each in fields)
        typed = not only_yes and isinstance(fields[0], Text) and fields[0].name == TYPED
    if "typed" in desk.passkey and typed:
        return "This confirmation has to be typed, so accepting needs your passkey."
    if "guards" in desk.passkey and (facts.guard or only_yes or typed):
        return "A guard asks, so accepting needs your passkey."
    return ""


def no_credentials(forms: FormSettings) -> PolicyRule:
    """A form never asks for a credential or payment data (the specification's MUST NOT)."""
    verdict: Literal["warn", "refuse"] = "warn" if forms.unsafe_credentials else "refuse"

    def decide(facts: Facts) -> PolicyRuling:
        return _ruling(verdict, [each.reason for each in facts.secrets if each.tier == 1])

    return PolicyRule("forms.credentials", decide)


def doubtful_forms(forms: FormSettings) -> PolicyRule:
    """A form that describes a credential, or asks for a part of one, and may still be harmless."""

    def decide(facts: Facts) -> PolicyRuling:
        return _ruling(forms.doubtful, [each.reason for each in facts.secrets if each.doubtful])

    return PolicyRule("forms.doubtful", decide)


def national_ids(forms: FormSettings) -> PolicyRule:
    """A form that asks for a national id number."""
    return _asks_for("national_id", "forms.national_ids", forms.national_ids)


def personal_data(forms: FormSettings) -> PolicyRule:
    """A form that asks for contact data."""
    return _asks_for("personal_data", "forms.personal_data", forms.personal_data)


def urls_in_text(forms: FormSettings) -> PolicyRule:
    """A form's text has no URLs: a person would follow them without the warnings that a link gets."""

    def decide(facts: Facts) -> PolicyRuling:
        found = any(_URL.search(unicodedata.normalize("NFKC", text)) for text in _texts(facts))
        return _ruling(forms.urls_in_text, ["The form's text contains a web address."] if found else [])

    return PolicyRule("forms.urls_in_text", decide)


def dangerous_links(links: LinkSettings) -> PolicyRule:
    """A link that no honest server sends."""
    verdict: Literal["warn", "refuse"] = "warn" if links.unsafe_dangerous else "refuse"
    return PolicyRule("links.dangerous", lambda facts: _about_link(facts, "danger", verdict))


def doubtful_links(links: LinkSettings) -> PolicyRule:
    """A link that has something odd about it."""
    return PolicyRule("links.doubtful", lambda facts: _about_link(facts, "warn", links.doubtful))


def only_domains(links: LinkSettings) -> PolicyRule:
    """A link that leads elsewhere than to the domains that are allowed."""

    def decide(facts: Facts) -> PolicyRuling:
        if facts.mode != "url" or not links.only or _within(facts, links.only):
            return ALLOW
        return _ruling("refuse", ["The link leads to a domain that links.only does not name."])

    return PolicyRule("links.only", decide)


def _ruling(verdict: Literal["allow", "warn", "refuse"], reasons: list[str]) -> PolicyRuling:
    return PolicyRuling(verdict, tuple(reasons)) if reasons and verdict != "allow" else ALLOW


def _asks_for(kind: str, name: str, verdict: Literal["allow", "warn", "refuse"]) -> PolicyRule:
    def decide(facts: Facts) -> PolicyRuling:
        return _ruling(
            verdict, [each.reason for each in facts.secrets if each.kind == kind and not each.doubtful]
        )

    return PolicyRule(name, decide)


def _about_link(
    facts: Facts, severity: Literal["warn", "danger"], verdict: Literal["warn", "refuse"]
) -> PolicyRuling:
    """A link without an inspection counts as dangerous."""
    if facts.mode != "url":
        return ALLOW
    if facts.link is None:
        return _ruling(verdict, ["Nobody looked at the link."] if severity == "danger" else [])
    found = [REASONS[each] for each in facts.link.reasons]
    return _ruling(verdict, [each.sentence for each in found if each.severity == severity])


def _within(facts: Facts, domains: tuple[str, ...]) -> bool:
    host = facts.link.host if facts.link is not None else None
    return host is not None and any(host == each or host.endswith(f".{each}") for each in domains)


def _texts(facts: Facts) -> Iterator[str]:
    if not isinstance(facts.question, FormQuestion):
        return
    yield facts.question.message
    for field in facts.question.form.fields:
        yield field.title or ""
        yield field.description or ""
        if isinstance(field, Choice | Choices):
            yield from (option.title or "" for option in field.options)
