"""The head-noun rule: a "token limit", a "Name des Tokens" and a トークンの上限 are no tokens."""

from __future__ import annotations

from typing import Final

from handraise.policy.secrets.clause import Clause
from handraise.policy.secrets.lexicon import COMMON, Lexicon, Sense

_NOUN_ENDINGS: Final = ("ing", "tion", "ment", "ness", "ity")
_ENDS_A_NOUN: Final = frozenset({"of", "the", "and", "stop", "neg", "ask", "ask after", "object"})
_LINKS: Final = frozenset({"of", "the"})
_BREAKS: Final = frozenset({"and", "ask", "stop"})


def has_another_head(clause: Clause, at: int, sense: Sense, known: Lexicon, partner: str) -> bool:
    """Whether the secret at this place only describes something else.

    `partner` is the role of a word that the sense needs, and that is no head for it.
    """
    return (
        _head_after(clause, at, known.head_first, partner)
        or _head_before(clause, at, known.head_first)
        or _counted(clause, at)
        or _followed_by_a_noun(clause, at, sense, known.stacking)
        or _is_object_of_a_statement(clause, at)
    )


def _head_after(clause: Clause, at: int, head_first: int, partner: str) -> bool:
    """ "Password length", パスワードの長さ, "password expires", "give the token a name".

    Not "heslo správce": where heads come first, what follows is whose password it is.
    """
    tied, gap = False, 0
    head_last = clause.languages & ~head_first
    for place, roles in enumerate(clause.roles_after(at), start=at + 1):
        following = clause.marks[place + 1 : place + 2]
        limits_the_value = bool(following) and following[0].text.isdigit()  # "min 8 characters"
        if (
            clause.marks[place].entry.roles.get("head", 0) & head_last
            and partner not in roles
            and not limits_the_value
        ):
            return True
        if "predicate" in roles or (tied and "ordinary" in roles):
            return True
        if "a" in roles and following and "head" in clause.roles[place + 1]:
            return True
        if "tie" in roles:
            tied = True
        elif not _ENDS_A_NOUN.isdisjoint(roles) or (gap := gap + 1) > 2:
            return False
    return False


def _head_before(clause: Clause, at: int, head_first: int) -> bool:
    """ "Length of the password", "longueur du mot de passe", "długość hasła"."""
    languages, linked, gap = clause.languages, False, 0
    for mark, roles in zip(clause.marks_before(at), clause.roles_before(at), strict=True):
        spoken = mark.entry.roles
        if not _LINKS.isdisjoint(roles):
            languages &= spoken.get("of", 0) | spoken.get("the", 0)
            linked = linked or "of" in roles
            continue
        nouns = spoken.get("head", 0) & (-1 if linked else head_first & ~spoken.get("ask", 0))
        nouns |= spoken.get("ordinary", 0) if linked else 0
        if nouns & languages:
            return True
        if not _BREAKS.isdisjoint(roles):
            return False
        gap += 1
        if gap > (2 if linked else 1):
            return False
    return False


def _counted(clause: Clause, at: int) -> bool:
    """ "Number of tokens", "количество попыток ввода пароля": how many, not which."""
    for roles in clause.roles_before(at):
        if "count" in roles:
            return True
        if "and" in roles:
            return False
    return False


def _followed_by_a_noun(clause: Clause, at: int, sense: Sense, stacking: int) -> bool:
    """ "Token ring", "password cracking", "what is your password strategy": the last noun is the head."""
    following = clause.marks[at + 1 : at + 2]
    if not following or not following[0].unknown or not clause.ascii:
        return False
    if clause.languages != COMMON and not clause.languages & stacking:
        return False
    in_a_sentence = at + 2 == len(clause.marks) >= 4
    return sense.strength == "weak" or in_a_sentence or following[0].text.endswith(_NOUN_ENDINGS)


def _is_object_of_a_statement(clause: Clause, at: int) -> bool:
    """ "The place where the token is kept" where the object comes first: トークンを保存する場所."""
    following = clause.roles_after(at)
    if len(following) < 2 or "object" not in following[0]:
        return False
    turns = any("head" in roles or "stop" in roles for roles in following[1:3])
    return turns or not any("ask after" in roles for roles in following)
