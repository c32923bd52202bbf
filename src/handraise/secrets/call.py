"""The questions of one call: none may ask for a secret, alone or together with the others."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any, Final

from handraise.errors import SecretInForm
from handraise.forms import Choice, Choices, Field, Flag, Form, Text
from handraise.secrets.finding import SecretFinding
from handraise.secrets.judge import BY_SHAPE, by_weight, confirmed, findings_of, judge_form, texts_of
from handraise.secrets.lexicon import Rule, lexicon
from handraise.secrets.reading import Mention, Reading, gravity, read
from handraise.secrets.weighing import GOING_ON, SURE, SUSPICIOUS, weigh

_MANY: Final = 64
"""So many messages are remembered for a form."""
_REMEMBERED: Final = 8
"""How many questions before this one count."""
_LONGEST: Final = 500
"""So much of an earlier message."""
_SOURCES: Final = (
    ("otp", frozenset({"on phone", "arrived"})),
    ("otp", frozenset({"message"})),
    ("otp", frozenset({"gadget"})),
    ("seed_phrase", frozenset({"wallet app"})),
    ("password", frozenset({"vault app"})),
    ("password", frozenset({"home network"})),
    ("private_key", frozenset({"key file"})),
    ("token", frozenset({"make one"})),
    ("card_number", frozenset({"card", "paying"})),
)
"""Things that hold a secret. After a question about one of them, "What does it say?" asks for that secret."""
_LITTLE: Final = frozenset({"string", "which"})
"""Groups that every question has a word of."""
_POINTING: Final = frozenset({"again", "seen", "look", "says", "copy it", "contents", "figures", "number"})


def _points(asked: Reading) -> bool:
    """Whether a question is about what was named before, and names nothing itself."""
    if not (asked.generic or {"ordinary", "head"}.isdisjoint(asked.roles)):
        return False
    return asked.generic or asked.refers_back or not asked.roles.isdisjoint(_POINTING)


def require_no_secrets(message: str, form: Form[Any]) -> None:
    """Raise `SecretInForm` when the form asks for a credential, payment data or a national id (S1, S2).

    A doubtful form is no reason to refuse an author's own question.
    Most questions are asked many times in the same words: what the form was found harmless with is not judged again.
    """
    if form.harmless is None:
        form.harmless = set()
    elif message in form.harmless:
        return
    require_none(judge_form(message, form))
    if len(form.harmless) == _MANY:
        form.harmless.clear()
    form.harmless.add(message)


def require_none(findings: tuple[SecretFinding, ...]) -> None:
    """Raise `SecretInForm` for the first finding that leaves no doubt."""
    for finding in findings:
        if not finding.doubtful:
            raise SecretInForm(
                f"{finding.reason} Forms travel through the client and the model's context; "
                "ask for it on a page, with ask.secret.",
                field=finding.field or "message",
                kind=finding.kind,
            )


class CallReading:
    """The questions of one call, as they are asked; each is judged with what was asked before it."""

    def __init__(self) -> None:
        self._earlier: list[tuple[str, Form[Any]]] = []

    def judge(self, message: str, form: Form[Any], *, strict: bool = False) -> tuple[SecretFinding, ...]:
        """What `judge_form` finds, and what only the questions together ask for."""
        findings = judge_form(message, form, strict=strict)
        if any(not finding.doubtful for finding in findings):
            return findings
        return self._after_others(message, form, findings)

    def judge_together(self, message: str, form: Form[Any]) -> tuple[SecretFinding, ...]:
        """What only the questions together ask for. The same question may be judged again: it counts once."""
        return self._after_others(message, form, ())

    def _after_others(
        self, message: str, form: Form[Any], alone: tuple[SecretFinding, ...]
    ) -> tuple[SecretFinding, ...]:
        now = (message[:_LONGEST], form.fields)
        self._earlier = [each for each in self._earlier if (each[0], each[1].fields) != now]
        findings = self._together(message, form, alone) if self._earlier else alone
        self._earlier = [*self._earlier, (message[:_LONGEST], form)][-_REMEMBERED:]
        return findings

    def _together(
        self, message: str, form: Form[Any], alone: tuple[SecretFinding, ...]
    ) -> tuple[SecretFinding, ...]:
        known = {finding.field for finding in alone}
        open_fields = [field for field in form.fields if isinstance(field, Text) and field.name not in known]
        fields = [field for field in open_fields if _says_little(field)]
        weighed = weigh(
            [*((asked, before.fields) for asked, before in self._earlier), (message, form.fields)]
        )
        plausible = bool(fields) and weighed.total >= GOING_ON
        findings = (*alone, *(self._after_reference(message, form, fields) if plausible else ()))
        if not findings and weighed.total >= SUSPICIOUS:
            taking = open_fields if weighed.total >= SURE else fields
            return self._findings(taking, by_weight(weighed), message, form)
        return tuple(map(confirmed, findings)) if weighed.total >= SURE else findings

    def _after_reference(
        self, message: str, form: Form[Any], fields: list[Text]
    ) -> tuple[SecretFinding, ...]:
        """What the rules find in the questions together."""
        if (named := self._named_before(message)) is not None:
            now = read(message)
            doubtful = named.doubtful or not (named.firm and (now.generic or now.refers_back))
            named = named._replace(doubtful=doubtful)
            return self._findings(fields, named, message, form)
        if (completed := self._completed(message, fields)) is not None:
            return self._findings(fields, completed, message, form)
        return self._as_one_form(message, form)

    def _named_before(self, message: str) -> Mention | None:
        """A secret of the person's that the questions before are about, if this one has no matter of its own."""
        now = read(message)
        if now.denies or not (now.generic or {"ordinary", "head"}.isdisjoint(now.roles)):
            return None
        for reading in self._readings():
            for mention in sorted(reading.own | reading.mentions | reading.passing, key=gravity):
                named = now.generic or now.refers_back or not mention.doubtful
                if mention.kind != "personal_data" and not reading.denies and named:
                    return mention
        return None

    def _completed(self, message: str, fields: list[Text]) -> Mention | None:
        """Words that ask for a secret only together, in different questions: "id_rsa", then "Paste its content"."""
        before = frozenset().union(*(reading.roles for reading in self._readings()))
        asked = read(message)
        labels = [read(field.title) for field in fields if field.title]
        pointed = _points(asked) or any("copy it" in label.roles and _points(label) for label in labels)
        if not asked.denies and "other question" not in asked.roles and pointed:
            for kind, groups in _SOURCES:
                if groups <= before:
                    return Mention(kind, True, True, True, asked.generic, words=tuple(sorted(groups)))
        now = asked.roles.union(*(read(field.title or field.name).roles for field in fields))
        said = before | now
        mentions = [
            Mention(rule.kind, True, True, True, rule.doubtful, words=(rule.first, *rule.others))
            for role in said
            for rule in lexicon().rules.get(role, ())
            if rule.others and said.issuperset(rule.others) and _needs_both(rule, before, now)
        ]
        return min(mentions, key=gravity, default=None)

    def _findings(
        self, fields: list[Text], mention: Mention, message: str, form: Form[Any]
    ) -> tuple[SecretFinding, ...]:
        """The same for each of these fields."""
        texts = [text for question in (*self._earlier, (message, form)) for text in texts_of(*question)]
        return findings_of(dict.fromkeys((field.name for field in fields), mention), texts)

    def _readings(self) -> list[Reading]:
        texts = [message for message, _ in self._earlier]
        for _, form in self._earlier:
            for field in form.fields:
                texts.append(field.title or "")
                if isinstance(field, Choice | Choices):
                    texts += [option.label for option in field.options[:5]]
        return [read(text) for text in texts if text]

    def _as_one_form(self, message: str, form: Form[Any]) -> tuple[SecretFinding, ...]:
        """What a form with the fields of all questions would ask for."""
        earlier = [
            _titled(field, asked)
            for asked, before in self._earlier
            for field in before.fields
            if not isinstance(field, Flag)
        ]
        now = [_titled(field, message) for field in form.fields]
        fields = {f"{number} {field.name}": field for number, field in enumerate([*earlier, *now])}
        if len(fields) < 2:
            return ()
        messages = " ".join(each for each, _ in self._earlier)
        whole = Form.by_hand(*(_renamed(field, name) for name, field in fields.items()))
        mine = {
            f"{number} {field.name}": field.name for number, field in enumerate(form.fields, len(earlier))
        }
        return tuple(
            replace(found, field=mine[found.field])
            if found.kind in BY_SHAPE
            else _doubt(mine[found.field], found)
            for found in judge_form(f"{messages} {message}", whole)
            if found.field in mine
        )


def _needs_both(rule: Rule, before: Set[str], now: Set[str]) -> bool:
    """Whether the rule is only complete with this question and those before it."""
    groups = {rule.first, *rule.others}
    return not groups.isdisjoint(before) and not groups & now <= _LITTLE and not groups <= now


def _titled(field: Field, message: str) -> Field:
    """The field with its question as the title, if it has none of its own."""
    return field if field.title else replace(field, title=message)


def _renamed(field: Field, name: str) -> Field:
    return replace(field, name=name, title=field.title or field.name)


def _says_little(field: Text) -> bool:
    label = read(field.title or field.name)
    return label.generic or {"ordinary", "head"}.isdisjoint(label.roles)


def _doubt(field: str, found: SecretFinding) -> SecretFinding:
    """The finding in a doubtful form, for a field of this question."""
    return findings_of({field: Mention(found.kind, True, True, True, True, words=found.words)}, [])[0]
