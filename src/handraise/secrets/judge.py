"""Does this form ask for a secret? Names, titles, descriptions, options, shapes and the message are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from handraise.forms import Choice, Choices, Flag, Form, Integer, Text
from handraise.forms.formats import FORMATS
from handraise.secrets.choices import ENTERING, chosen, of_a_chosen_kind
from handraise.secrets.finding import CALLED, NUMERIC, PERSONAL, SecretFinding, tier_of
from handraise.secrets.lexicon import lexicon
from handraise.secrets.reading import Mention, Reading, as_written, gravity, read
from handraise.secrets.shape import (
    Carrier,
    Hint,
    counts_few,
    digits_of,
    is_mask,
    month_and_year,
    shown_kind,
    single_digit,
    takes_postal_code,
)
from handraise.secrets.weighing import (
    ALONE,
    APART,
    MANY_OPTIONS,
    POSSIBLE,
    SURE,
    SUSPICIOUS,
    Weighed,
    weigh,
    weigh_apart,
)

_CREDENTIAL: Final = ENTERING | {
    "service",
    "provider",
    "platform",
    "delivered",
    "card",
    "paying",
    "bank",
    "wallet",
}
"""Roles of words that speak of credentials. Beside one of them, "PAT" is a token."""
_INPUT: Final = frozenset({"contents", "keyed"})
"""Roles of words that ask for anything at all: "whatever you type there"."""
_NAMING: Final = frozenset({"ordinary", "head"})
_IN_TURN: Final = frozenset({"part", "last four"})
"""Roles of words that say which of several parts is meant."""
_SAID_ENOUGH: Final = frozenset({"name only", "last four"})
"""Roles of words that say that a field takes nothing secret."""
_OTHER_MATTER: Final = "other matter"
"""Stands for a message that names something."""
_TOGETHER: Final = (
    (
        "otp",
        {6, 8},
        frozenset({"delivered", "gadget", "the app", "arrived", "message", "in message", "two steps"}),
    ),
    ("cvv", {3}, frozenset({"back", "on the back", "card", "paying"})),
    ("pin", {4}, frozenset({"cash machine", "unlocking", "card", "bank"})),
)
"""How many digits a secret has, and the words around it."""
BY_SHAPE: Final = frozenset({"card_number", "cvv"})
"""The digits of several fields give these away without a doubt. All else that questions ask together is one."""
_ON_A_CARD: Final = ((16, 16), (3, 3), (3, 4))
"""How many digits stand on a card. Beside a month and a year, no label makes them something else."""
_SENTENCE_END: Final = re.compile(r"[.:!?…]*[.:!?…]\s+")
_LONGEST_PIN: Final = 8
"""More digits are a number of another kind."""
_LONGEST: Final = 500
"""So much of the end of a message is read together with a label."""
_FEW_WORDS: Final = 4
"""A message that says no more than this, and names a secret, is about that secret."""


class _Label(NamedTuple):
    """A field and what its own texts say."""

    field: Carrier
    name: Reading
    title: Reading
    description: Reading
    shown: Reading
    """What the person sees as the field's name."""
    ordinary: bool
    """It names something harmless: a region, a reason."""
    roles: frozenset[str]
    """The roles of all its words."""

    @property
    def takes_text(self) -> bool:
        """It takes any text, and names nothing harmless."""
        free = isinstance(self.field, Text) and self.field.format in {None, "uri"}
        return free and not self.ordinary and not self.description.denies

    @property
    def takes_any_text(self) -> bool:
        """It is a whole number, or a text of no other format than an address."""
        text = isinstance(self.field, Text) and self.field.format in {None, "uri"}
        return text or (isinstance(self.field, Integer) and not counts_few(self.field))

    def says_harmless(self, request: Reading) -> bool:
        """Whether its texts, or the message, say that it takes nothing secret."""
        told_apart = self.description.mentions or self.description.passing or request.denies
        denies = self.description.denies or self.title.denies or not _SAID_ENOUGH.isdisjoint(self.roles)
        return denies or bool(self.ordinary and told_apart)

    def names(self, mention: Mention) -> bool:
        """Whether its own title, or its name if it has none, names this secret without a doubt."""
        return mention.firm and mention.asked and not mention.doubtful and mention in self.shown.mentions

    def fits(self, mention: Mention) -> bool:
        """Whether the field can carry it. A number is a PIN or a card, hardly ever a password.

        In India, a PIN code is a postal code.
        """
        if isinstance(self.field, Text):
            indic = any("\u0900" <= word[:1] <= "\u0dff" for word in mention.words)
            postal = (
                mention.kind == "pin"
                and takes_postal_code(self.field, indic)
                and (indic or not mention.asked)
            )
            size = digits_of(self.field, frozenset())
            longer = mention.kind == "pin" and size is not None and size[0] > _LONGEST_PIN
            return (
                not postal
                and not longer
                and (self.field.format is None or FORMATS[self.field.format].may_hold_secret)
            )
        if counts_few(self.field) and not mention.part:
            return False
        if mention.words and mention.words[0].endswith("s"):  # "Passwords kept" counts them
            return False
        return mention.kind in NUMERIC and (mention.firm or mention.kind != "password")


def _label_of(field: Carrier) -> _Label:
    name, title, description = read(field.name), read(field.title or ""), read(field.description or "")
    shown = title if field.title else name
    ordinary = not shown.generic and _INPUT.isdisjoint(shown.roles) and not _NAMING.isdisjoint(shown.roles)
    roles = name.roles.union(title.roles, description.roles)
    return _Label(field, name, title, description, shown, ordinary, roles)


def judge_form(message: str, form: Form[Any], *, strict: bool = False) -> tuple[SecretFinding, ...]:
    """The fields that ask for a secret, each with its kind; empty when the form is fine.

    `strict` reports contact data too: email, telephone, address, date of birth, a person's full name.
    """
    request = read(message)
    labels = [_label_of(field) for field in form.fields if not isinstance(field, Flag | Choice | Choices)]
    context = _context(request, labels, form)
    found: dict[str | None, Mention] = {
        label.field.name: mention for label in labels if (mention := _asked_for(label, context, strict))
    }
    for name, mention in (*_word_by_word(labels, context), *_childhood(labels), *_renewed(labels, context)):
        found.setdefault(name, mention)
    rest = [label for label in labels if label.field.name not in found]
    found.update(_asked_by_message(request, rest, context, strict))
    if not lexicon().groups.isdisjoint(request.roles):
        rest = [label for label in rest if label.field.name not in found]
        found.update(_asked_in_two_texts(message, request, rest, context, strict))
    found.update(_asked_by_shape([label for label in rest if label.field.name not in found], context))
    found.update(chosen(message, request, form, context, lambda each: _counts(each, context, strict=False)))
    taking = [each for each in form.fields if isinstance(each, Text) and each.name not in found]
    found.update(of_a_chosen_kind(form, taking))
    asks_for_another = any(mention.firm and not mention.closing for mention in request.mentions)
    weighed, apart = weigh([(message, form.fields)]), weigh_apart(message, form.fields)
    heavy = max(weighed.total, max(apart.values())[0] - APART) >= SURE
    found = {
        name: mention._replace(doubtful=mention.doubtful and (not heavy or mention.kind == "personal_data"))
        for name, mention in found.items()
        if weighed.total >= POSSIBLE
        or apart[name][0] >= POSSIBLE + ALONE
        or not _needs_weight(mention)
        or any(label.names(mention) for label in labels if label.field.name == name)
    }
    if not found and not asks_for_another:
        suspicious = ((label, _suspicious(label.field, weighed, apart)) for label in labels)
        found = {
            label.field.name: mention
            for label, mention in suspicious
            if mention and label.takes_any_text and (heavy or not label.says_harmless(request))
        }
    return findings_of(found, texts_of(message, form))


def _suspicious(
    field: Carrier, weighed: Weighed, apart: Mapping[str | None, tuple[float, str]]
) -> Mention | None:
    """What the words alone speak for, of the whole question or of a part of it with this field."""
    if weighed.total >= SUSPICIOUS:
        return by_weight(weighed)
    total, clause = apart[field.name]
    if total < SUSPICIOUS + APART:
        return None
    return by_weight(weigh([(clause, (field,))])._replace(total=total - APART))


def _needs_weight(mention: Mention) -> bool:
    """Whether the words around it may speak against it. Nothing speaks against what the shape of a field shows."""
    by_shape = mention.doubtful and not mention.described
    return mention.kind not in PERSONAL and not by_shape and not mention.shown


def by_weight(weighed: Weighed) -> Mention:
    """What the words alone speak for."""
    return Mention(weighed.kind, True, True, True, weighed.total < SURE, words=weighed.words)


def _context(request: Reading, labels: list[_Label], form: Form[Any]) -> frozenset[str]:
    """The roles of everything that is written anywhere in the question."""
    options = (
        read(option.label).roles
        for field in form.fields
        if isinstance(field, Choice | Choices)
        for option in field.options[:MANY_OPTIONS]
    )
    own = (label.roles for label in labels)
    names_secret = any(mention.asked for mention in request.mentions)
    matter = () if request.generic or names_secret else (_OTHER_MATTER,)
    named = request.harmless.union(mention.kind for mention in request.passing)
    counted = (f"unless {kind}" for kind in named if "other question" in request.roles)
    return request.roles.union(matter, counted, *options, *own)


def _asked_for(label: _Label, context: frozenset[str], strict: bool) -> Mention | None:
    """What the field's own texts ask for, the gravest and firmest first."""
    mentions = {
        *(mention for mention in _standing(label) if not mention.example or label.shown.generic),
        *_completed(label, context),
        *_shown(label, context),
    }
    for mention in sorted(mentions, key=gravity):
        if label.fits(mention) and _counts(mention, context, strict):
            return mention
    wants_email = isinstance(label.field, Text) and label.field.format == "email"
    return Mention("personal_data", True, True, True) if strict and wants_email else None


def _counts(mention: Mention, context: frozenset[str], strict: bool) -> bool:
    if mention.kind == "personal_data" and not strict:
        return False
    if mention.homonym and _OTHER_MATTER in context and context.isdisjoint(_CREDENTIAL):
        return False
    if mention.kind in BY_SHAPE and "playing" in context and "paying" not in context:
        return False
    return mention.firm or f"unless {mention.kind}" not in context


def _standing(label: _Label) -> Iterator[Mention]:
    """The mentions that no other text of the field takes back: a "token" titled "Token symbol" is none."""
    name, title, description = label.name, label.title, label.description
    if "name only" in description.roles:
        return
    for mention in name.mentions:
        excused = title.harmless | (frozenset() if mention.firm else description.harmless)
        unseen = mention.kind in PERSONAL and not mention.firm and label.field.title and label.ordinary
        if (mention.kind not in excused and not unseen) or mention.kind in _kinds(title):
            yield mention
    for mention in title.mentions:
        if mention.firm or mention.kind not in name.harmless | description.harmless:
            yield mention
    if "elsewhere" in description.roles and label.ordinary:
        return
    for mention in description.mentions:  # "Order", and below it "six digits, in our e-mail"
        yield mention._replace(described=mention.described or (label.ordinary and len(mention.words) > 1))
    if "elsewhere" not in description.roles and not description.denies:
        yield from (mention._replace(doubtful=True) for mention in description.own if mention.firm)


def _shown(label: _Label, context: frozenset[str]) -> Iterator[Mention]:
    """Kinds that the texts, the pattern or an example show the look of."""
    for reading in (label.title, label.description):
        if reading.quotes:
            yield _shown_by(reading.quotes)
    if not (label.title.denies or label.description.denies) and (
        hint := shown_kind(label.field, context, label.shown.generic)
    ):
        yield _shown_by(hint)


def _kinds(reading: Reading) -> set[str]:
    return {mention.kind for mention in reading.mentions}


def _completed(label: _Label, context: frozenset[str]) -> Iterator[Mention]:
    """Kinds that a plain label and the words around it name together: "Code", after "We sent you an SMS"."""
    texts = [reading for reading in (label.name, label.title) if not reading.generic]
    roles = texts[0].plain.intersection(*(reading.plain for reading in texts)) if texts else ()
    for rule in (rule for role in roles for rule in lexicon().rules.get(role, ())):
        if context.issuperset(rule.others):
            shown = label.field.title or label.field.name
            yield Mention(rule.kind, False, True, True, rule.doubtful, words=(shown, *rule.others))


def _asked_by_message(
    request: Reading, labels: list[_Label], context: frozenset[str], strict: bool
) -> Iterator[tuple[str | None, Mention]]:
    """The message asks, and fields that name nothing take the answer."""
    taking = [label for label in labels if isinstance(label.field, Text) and _may_take_a_part(label)]
    if request.quotes and any(label.takes_text for label in taking):
        for label in taking:
            if label.takes_text:
                mention = _shown_by(request.quotes)
                yield label.field.name, mention._replace(doubtful=mention.doubtful or not label.shown.generic)
        return
    found = dict(_requested(request, labels, context, strict))
    yield from found.items()
    if not found and {"ordinary", "elsewhere"}.isdisjoint(request.roles) and not request.denies:
        about = [each for each in request.own if each.firm and each.closing and each.kind != "personal_data"]
        for each in sorted(about, key=gravity)[:1]:
            yield from ((label.field.name, each._replace(doubtful=True)) for label in taking)


def _asked_in_two_texts(
    message: str, request: Reading, labels: list[_Label], context: frozenset[str], strict: bool
) -> Iterator[tuple[str, Mention]]:
    """The message and a label that names nothing are one sentence: "We texted you six digits", "Type them here"."""
    for label in labels:
        if label.field.title and not label.ordinary:
            whole = read(_SENTENCE_END.sub(", ", f"{message[-_LONGEST:]}. {label.field.title}"))
            known = request.harmless | label.title.harmless
            for mention in sorted(whole.mentions, key=gravity):
                if (
                    mention.kind not in known
                    and mention.closing
                    and label.fits(mention)
                    and _counts(mention, context, strict)
                ):
                    yield label.field.name, mention
                    break


def _may_take_a_part(label: _Label) -> bool:
    return not label.ordinary or not label.shown.roles.isdisjoint({"part", "digit", "number", "signs"})


def _shown_by(hint: Hint) -> Mention:
    return Mention(hint.kind, True, True, True, hint.doubtful, words=(hint.because,), shown=True)


def _requested(
    request: Reading, labels: list[_Label], context: frozenset[str], strict: bool
) -> Iterator[tuple[str | None, Mention]]:
    """What the message asks for."""
    for mention in sorted(request.mentions, key=gravity):
        if not mention.closing or not _counts(mention, context, strict):
            continue
        fitting = [label for label in labels if label.fits(mention)]
        open_fields = [
            label for label in fitting if not label.ordinary and mention.kind not in label.title.harmless
        ]
        generic = [label for label in open_fields if label.shown.generic]
        yield from ((label.field.name, mention) for label in generic)
        if not generic and fitting and mention.asked:
            if mention.part or (open_fields and (mention.firm or mention.doubtful)):
                yield None, mention
            elif not open_fields and mention.firm and "elsewhere" not in context:
                own = _own(mention, request)
                if own or len(request.words) > _FEW_WORDS:
                    yield None, mention._replace(doubtful=True, described=not own)
                    return
        elif not generic and open_fields and mention.firm and len(request.words) <= _FEW_WORDS:
            yield None, mention._replace(doubtful=True)
        if open_fields or mention.part:
            return


def _own(mention: Mention, reading: Reading) -> bool:
    return any(own.kind == mention.kind for own in reading.own)


def _asked_by_shape(labels: list[_Label], context: frozenset[str]) -> Iterator[tuple[str, Mention]]:
    """Fields that name nothing, and take just so many digits, where the words around speak of cards or sign-ins."""
    sizes = {label.field.name: digits_of(label.field, label.roles) for label in labels}
    paying = not context.isdisjoint({"card", "paying"})
    card: list[tuple[_Label, str]] = []
    expires = [label for label in labels if month_and_year(label.field)]
    for label in labels:
        size = sizes[label.field.name]
        if label in expires or "month and year" in label.shown.roles:
            card.append((label, "a month and a year"))
        if size is None or not (_only_digits(label) or (expires and size in _ON_A_CARD)):
            continue
        name = label.field.name
        if 13 <= size[0] <= 19:
            card.append((label, f"{size[0]} digits"))
        elif size[0] == 3 and size[1] <= 4:
            card.append((label, "three digits"))
        elif size == (4, 4) and not paying and "unlocking" in context:
            yield name, Mention("pin", True, True, True, True, words=("four", "unlocking"))
        elif size == (4, 4) and "card" in context and "last four" not in context and len(labels) == 1:
            yield name, Mention("pin", True, True, True, True, words=("four", "card"))
        elif 4 <= size[0] <= 8 and "delivered" in context:
            yield name, Mention("otp", True, True, True, words=(f"{size[0]} digits", "delivered"))
        elif size == (6, 6) and not ENTERING.isdisjoint(context):
            yield name, Mention("otp", True, True, True, True, words=("six", *sorted(ENTERING & context)))
    yield from _digit_by_digit(labels, sizes, context)
    fours = [label for label in labels if sizes[label.field.name] == (4, 4)]
    if len(fours) >= (4 if context.isdisjoint(_IN_TURN) else 3):
        card += [(label, "groups of four digits") for label in fours]
    if len(card) >= 2 or (card and paying and card[0][1] != "a month and a year"):
        words = tuple(because for _, because in card)
        for label, because in card:
            kind = "cvv" if because == "three digits" else "card_number"
            shown = bool(expires) and len(card) >= 2
            yield label.field.name, Mention(kind, True, True, True, not paying, words=words, shown=shown)


def _digit_by_digit(
    labels: list[_Label], known: dict[str, tuple[int, int] | None], context: frozenset[str]
) -> Iterator[tuple[str, Mention]]:
    """Several fields that take some digits each, and together as many as a secret has: three and three of a code."""
    sizes = [(label, single_digit(label.field) or known[label.field.name]) for label in labels]
    parts = [(label, size) for label, size in sizes if size and "head" not in label.shown.roles]
    together = sum(size[1] for _, size in parts)
    if len(parts) < 2 or len({size for _, size in parts}) > 1:
        return
    for kind, digits, around in _TOGETHER:
        if together in digits and not context.isdisjoint(around):
            words = (f"{together} digits", *sorted(around & context))
            yield from (
                (label.field.name, Mention(kind, True, True, True, True, words=words)) for label, _ in parts
            )
            return


def _word_by_word(labels: list[_Label], context: frozenset[str]) -> Iterator[tuple[str, Mention]]:
    """ "Word 1", "Word 2" and so on, beside a wallet, or of twelve. With both, one is enough."""
    words = [label for label in labels if "word" in label.shown.roles and not label.ordinary]
    wallet = not context.isdisjoint({"wallet", "wallet app"})
    dozen = "dozen" in context
    if len(words) >= 4 - 2 * wallet - dozen and (wallet or dozen):
        for label in words:
            shown = label.field.title or label.field.name
            yield label.field.name, Mention("seed_phrase", True, True, True, not wallet, words=(shown,))


def _childhood(labels: list[_Label]) -> Iterator[tuple[str, Mention]]:
    """First pet, first school, mother's name: two of them are what banks ask to tell a person."""
    asked = [label for label in labels if "first pet" in label.shown.roles | label.description.roles]
    if len(asked) >= 2:
        yield from (
            (label.field.name, Mention("security_answer", True, True, True, True, words=("first pet",)))
            for label in asked
        )


def _renewed(labels: list[_Label], context: frozenset[str]) -> Iterator[tuple[str, Mention]]:
    """The old one, the new one, and the new one again: a password is the only thing that is changed so."""
    steps = ("old one", "new one", "new one again")
    asked = [label for label in labels if not label.shown.roles.isdisjoint(steps) and not label.ordinary]
    roles = frozenset().union(*(label.shown.roles for label in asked))
    if len(asked) == len(labels) and (roles.issuperset(steps) or "password weak" in context):
        for label in asked:
            shown = label.field.title or label.field.name
            yield label.field.name, Mention("password", True, True, True, True, words=(shown,))


def _only_digits(label: _Label) -> bool:
    """Whether the label names nothing, or says no more than how many digits, or where they stand."""
    if is_mask(label.field.title or ""):
        return True
    if not _NAMING.isdisjoint(label.shown.roles) and not label.shown.refers_back:
        return False
    digits = {"sixteen", "six", "three", "four", "back", "digit", "number", "code"}
    return label.shown.generic or not digits.isdisjoint(label.shown.roles)


def texts_of(message: str, form: Form[Any]) -> list[str]:
    """Everything that the question says."""
    texts = [message]
    for field in form.fields:
        texts += [field.title or "", field.description or "", field.name]
        if isinstance(field, Choice | Choices):
            texts += [option.label for option in field.options[:MANY_OPTIONS]]
    return texts


def findings_of(found: Mapping[str | None, Mention], texts: list[str]) -> tuple[SecretFinding, ...]:
    """What a person is told about the mentions in these texts, by field."""
    written = {words: as_written(words, texts) for words in {mention.words for mention in found.values()}}
    return tuple(_finding(field, mention, written[mention.words]) for field, mention in found.items())


def _finding(field: str | None, mention: Mention, words: tuple[str, ...]) -> SecretFinding:
    reason = f"This may be asking for {CALLED[mention.kind]}. Do not give one here."
    finding = SecretFinding(field, 2, mention.kind, reason, doubtful=True, words=words)
    return finding if mention.doubtful else confirmed(finding)


def confirmed(finding: SecretFinding) -> SecretFinding:
    """The finding without a doubt."""
    place = "The message" if finding.field is None else f"The field {finding.field!r}"
    reason = f"{place} asks for {CALLED[finding.kind]}."
    return replace(finding, tier=tier_of(finding.kind), reason=reason, doubtful=False)
