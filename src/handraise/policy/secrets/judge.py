"""Does this form ask for a secret? Names, titles, descriptions, options and the message are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from handraise.errors import SecretInForm
from handraise.forms import Choice, Choices, Flag, Form, Integer, Number, Text
from handraise.policy.secrets.finding import CALLED, NUMERIC, SecretFinding, tier_of
from handraise.policy.secrets.lexicon import lexicon
from handraise.policy.secrets.quoted import quoted_kind
from handraise.policy.secrets.reading import Mention, Reading, read

Carrier: TypeAlias = Text | Integer | Number
"""Fields that a secret fits into. A yes, a no and a choice among given options carry none."""
_KINDS: Final = tuple(CALLED)


class _Label(NamedTuple):
    """A field and what its own texts say."""

    field: Carrier
    name: Reading
    title: Reading
    description: Reading

    @property
    def shown(self) -> Reading:
        """What the person sees as the field's name."""
        return self.title if self.field.title else self.name

    @property
    def ordinary(self) -> bool:
        """The label names something harmless: a region, a reason."""
        return not self.shown.generic and not {"ordinary", "head"}.isdisjoint(self.shown.roles)

    def fits(self, mention: Mention) -> bool:
        """Whether the field can carry it. A number is a PIN or a card, hardly ever a password."""
        if isinstance(self.field, Text):
            return self.field.format not in ("date", "date-time")
        return mention.kind in NUMERIC and (mention.firm or mention.kind != "password")


def judge_form(message: str, form: Form[Any], *, strict: bool = False) -> tuple[SecretFinding, ...]:
    """The fields that ask for a secret, each with its kind; empty when the form is fine.

    `strict` reports contact data too: email, telephone, address, date of birth, a person's full name.
    """
    request = read(message)
    labels = [
        _Label(field, read(field.name), read(field.title or ""), read(field.description or ""))
        for field in form.fields
        if not isinstance(field, Flag | Choice | Choices)
    ]
    context = _context(request, labels, form)
    found = {label.field.name: kind for label in labels if (kind := _kind_asked(label, context, strict))}
    findings = [_finding(name, kind) for name, kind in found.items()]
    rest = [label for label in labels if label.field.name not in found]
    return (*findings, *_asked_by_message(request, rest, context, strict))


def require_no_secrets(message: str, form: Form[Any]) -> None:
    """Raise `SecretInForm` when the form asks for a credential, payment data or a national id (S1, S2).

    Most questions are asked many times in the same words: what the form was found harmless with is not judged again.
    """
    if form.harmless is None:
        form.harmless = set()
    elif message in form.harmless:
        return
    for finding in judge_form(message, form):
        raise SecretInForm(
            f"{finding.reason} Forms travel through the client and the model's context; "
            "ask for it on a page, with ask.secret.",
            field=finding.field or "message",
            kind=finding.kind,
        )
    if len(form.harmless) == _MANY:
        form.harmless.clear()
    form.harmless.add(message)


_MANY = 64


def _context(request: Reading, labels: list[_Label], form: Form[Any]) -> frozenset[str]:
    """The roles of everything that is written anywhere in the question."""
    options = (
        read(option.label).roles
        for field in form.fields
        if isinstance(field, Choice | Choices)
        for option in field.options[:20]
    )
    own = (reading.roles for label in labels for reading in label[1:])
    return request.roles.union(*options, *own)


def _kind_asked(label: _Label, context: frozenset[str], strict: bool) -> str | None:
    """What the field's own texts ask for, the gravest and firmest first."""
    mentions = {
        *_standing(label),
        *(Mention(kind, firm=False, asked=True, closing=True) for kind in _completed(label, context)),
        *(Mention(kind, firm=True, asked=True, closing=True) for kind in _quoted(label)),
    }
    for mention in sorted(mentions, key=_gravity):
        if label.fits(mention) and _counts(mention, context, strict):
            return mention.kind
    wants_email = isinstance(label.field, Text) and label.field.format == "email"
    return "personal_data" if strict and wants_email else None


def _gravity(mention: Mention) -> tuple[int, bool, int]:
    return tier_of(mention.kind), not mention.firm, _KINDS.index(mention.kind)


def _counts(mention: Mention, context: frozenset[str], strict: bool) -> bool:
    if mention.kind == "personal_data" and not strict:
        return False
    return mention.firm or f"unless {mention.kind}" not in context


def _standing(label: _Label) -> Iterator[Mention]:
    """The mentions that no other text of the field takes back: a "token" titled "Token symbol" is none."""
    name, title, description = label[1:]
    for mention in name.mentions:
        excused = title.harmless | (frozenset() if mention.firm else description.harmless)
        if mention.kind not in excused or mention.kind in _kinds(title):
            yield mention
    for mention in title.mentions:
        if mention.firm or mention.kind not in name.harmless | description.harmless:
            yield mention
    yield from description.mentions


def _quoted(label: _Label) -> Iterator[str]:
    """Kinds that the texts show an example of, or the pattern that the answer has to match."""
    yield from (reading.quotes for reading in (label.title, label.description) if reading.quotes)
    if isinstance(label.field, Text) and label.field.pattern:
        pattern = label.field.pattern if isinstance(label.field.pattern, str) else label.field.pattern.pattern
        if kind := quoted_kind(pattern.lstrip("^")):
            yield kind


def _kinds(reading: Reading) -> set[str]:
    return {mention.kind for mention in reading.mentions}


def _completed(label: _Label, context: frozenset[str]) -> Iterator[str]:
    """Kinds that a plain label and the words around it name together: "Code", after "We sent you an SMS"."""
    texts = [reading for reading in (label.name, label.title) if not reading.generic]
    for rule in lexicon().rules:
        if texts and rule.second in context and all(rule.first in reading.plain for reading in texts):
            yield rule.kind


def _asked_by_message(
    request: Reading, labels: list[_Label], context: frozenset[str], strict: bool
) -> Iterator[SecretFinding]:
    """The message asks, and fields that name nothing take the answer."""
    for mention in sorted(request.mentions, key=_gravity):
        if not mention.closing or not _counts(mention, context, strict):
            continue
        open_fields = [label for label in labels if label.fits(mention) and not label.ordinary]
        generic = [label for label in open_fields if label.shown.generic]
        yield from (_finding(label.field.name, mention.kind) for label in generic)
        if open_fields and not generic and mention.asked:
            yield _finding(None, mention.kind)
        if open_fields:
            return


def _finding(field: str | None, kind: str) -> SecretFinding:
    place = "The message" if field is None else f"The field {field!r}"
    return SecretFinding(field, tier_of(kind), kind, f"{place} asks for {CALLED[kind]}.")
