"""The questions of one call, read together: "Do you know your PIN?", and then "Which one is it?"."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any, Final

from handraise.forms import Choice, Choices, Field, Flag, Form, Text
from handraise.secrets.finding import SecretFinding
from handraise.secrets.judge import BY_SHAPE, finding_of, gravity, judge_form, texts_of
from handraise.secrets.lexicon import lexicon
from handraise.secrets.reading import Mention, Reading, read

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
    ("card_number", frozenset({"card", "paying"})),
)
"""Things that hold a secret. After a question about one of them, "What does it say?" asks for that secret."""
_POINTING: Final = frozenset({"again", "seen", "look", "says", "copy it", "contents", "figures", "number"})


def _points(asked: Reading) -> bool:
    """Whether a question is about what was named before, and names nothing itself."""
    if not (asked.generic or {"ordinary", "head"}.isdisjoint(asked.roles)):
        return False
    return asked.generic or asked.refers_back or not asked.roles.isdisjoint(_POINTING)


class CallReading:
    """The questions of one call, as they are asked; each is judged with what was asked before it."""

    def __init__(self) -> None:
        self._earlier: list[tuple[str, Form[Any]]] = []

    def judge(self, message: str, form: Form[Any], *, strict: bool = False) -> tuple[SecretFinding, ...]:
        """What `judge_form` finds, and what only the questions together ask for."""
        findings = judge_form(message, form, strict=strict)
        if all(finding.doubtful for finding in findings):
            findings += self.judge_together(message, form, {finding.field for finding in findings})
        return findings

    def judge_together(
        self, message: str, form: Form[Any], known: Set[str | None] = frozenset()
    ) -> tuple[SecretFinding, ...]:
        """What only the questions together ask for, but for the fields that are `known` already.

        The same question may be judged again: it counts once.
        """
        now = (message[:_LONGEST], form.fields)
        self._earlier = [each for each in self._earlier if (each[0], each[1].fields) != now]
        findings = self._together(message, form, known) if self._earlier else ()
        self._earlier = [*self._earlier, (message[:_LONGEST], form)][-_REMEMBERED:]
        return findings

    def _together(self, message: str, form: Form[Any], known: Set[str | None]) -> tuple[SecretFinding, ...]:
        fields = [
            field
            for field in form.fields
            if isinstance(field, Text) and field.name not in known and _says_little(field)
        ]
        if not fields:
            return ()
        if (named := self._named_before(message)) is not None:
            now = read(message)
            doubtful = named.doubtful or not (named.firm and (now.generic or now.refers_back))
            named = named._replace(doubtful=doubtful)
            return tuple(finding_of(each.name, named, self._texts(message, form)) for each in fields)
        if (completed := self._completed(message, fields)) is not None:
            return tuple(finding_of(each.name, completed, self._texts(message, form)) for each in fields)
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
        if not asked.denies and "other question" not in asked.roles and _points(asked):
            for kind, groups in _SOURCES:
                if groups <= before:
                    return Mention(kind, True, True, True, asked.generic, words=tuple(sorted(groups)))
        now = asked.roles.union(*(read(field.title or field.name).roles for field in fields))
        for rule in (rule for role in before | now for rule in lexicon().rules.get(role, ())):
            groups = frozenset({rule.first, *rule.others})
            if (
                rule.others
                and groups <= before | now
                and groups & now
                and groups & before
                and not groups <= now
            ):
                return Mention(rule.kind, True, True, True, rule.doubtful, words=tuple(sorted(groups)))
        return None

    def _texts(self, message: str, form: Form[Any]) -> list[str]:
        return [text for question in (*self._earlier, (message, form)) for text in texts_of(*question)]

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
            else _doubt(mine[found.field], found.kind, found.words, [])
            for found in judge_form(f"{messages} {message}", whole)
            if found.field in mine
        )


def _titled(field: Field, message: str) -> Field:
    """The field with its question as the title, if it has none of its own."""
    return field if field.title else replace(field, title=message)


def _renamed(field: Field, name: str) -> Field:
    return replace(field, name=name, title=field.title or field.name)


def _says_little(field: Text) -> bool:
    label = read(field.title or field.name)
    return label.generic or {"ordinary", "head"}.isdisjoint(label.roles)


def _doubt(field: str, kind: str, words: tuple[str, ...], texts: list[str]) -> SecretFinding:
    return finding_of(field, Mention(kind, True, True, True, True, words=words), texts)
