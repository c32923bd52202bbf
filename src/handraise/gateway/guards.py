"""The user's guards: a question at our desk before a call goes to its server.

A guard speaks in its own name. It asks at our desk only, because a client could answer without its person.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from handraise.calls.store import NOT_SENT
from handraise.desks import Decision, Waiting
from handraise.display import for_line
from handraise.errors import CATEGORY, GuardRefused, HandraiseError
from handraise.gateway.asking import Asker, OurDesk, QuestionHandler
from handraise.gateway.call import RelayedCall
from handraise.gateway.catalog import read_by_guards
from handraise.gateway.links import Destination
from handraise.gateway.messages import Message, objects_in
from handraise.gateway.peers import name_of
from handraise.gateway.sentences import text_result
from handraise.guards.decide import MISTYPED, DeclinePause, Guard, count_in, fits, folded
from handraise.policy.settings import GuardSettings
from handraise.questions import TYPED, Accepted, Cancelled, Declined, FormQuestion, with_reasons
from handraise.revisions import Revision

if TYPE_CHECKING:
    from handraise.gateway.holding import Holding
    from handraise.gateway.state import GatewayState

logger = logging.getLogger(__name__)

_REASKS: Final = 3
"""How often a person who mistyped is asked again. Our servers use the same number."""


_LONGEST_NAME: Final = 60
_MOST_TOOLS: Final = 10_000
NOTHING_FILLED_IN: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GuardRule:
    """A guard for the tools of some servers, or of all if `servers` is empty.

    `count` names the argument that says how much a call concerns. `quiet` is the pause after a decline.
    """

    name: str
    guard: Guard
    servers: tuple[str, ...]
    count: str
    quiet: DeclinePause

    def is_for(self, server: str) -> bool:
        """Whether the rule covers this server, by name or pattern."""
        return not self.servers or any(server == each or fnmatchcase(server, each) for each in self.servers)

    def guard_for(self, tool: str) -> Guard:
        """The guard as it reads the name of this tool: in any case and form, with or without blanks around it.

        The attack: a server takes `Delete_All` or ` delete_all` for `delete_all`, and the guard does not.
        """
        is_meant = any(fnmatchcase(folded(tool), folded(pattern)) for pattern in self.guard.tools)
        return replace(self.guard, tools=("*",)) if is_meant else self.guard

    def is_about(self, tool: str, annotations: Mapping[str, Any] | None) -> bool:
        """Whether the rule covers this tool, with some arguments at least."""
        return replace(self.guard_for(tool), arguments={}, above=None).concerns(tool, annotations, {})

    def counting(self, tool: str, arguments: Mapping[str, Any]) -> tuple[Guard, int | None]:
        """The guard for these arguments, and the count. A call without a count is asked about too."""
        guard = self.guard_for(tool)
        if (count := count_in(arguments, self.count)) is not None:
            return guard, count
        typed = None if guard.typed == "count" else guard.typed
        message = guard.message.replace("{count}", "an unknown number of")
        return replace(guard, message=message, above=None, typed=typed), None


@dataclass(frozen=True, slots=True)
class GuardQuestion:
    """The question of a rule before a call."""

    rule: GuardRule
    guard: Guard
    tool: str
    arguments: Mapping[str, Any]
    count: int | None
    question: FormQuestion[Any]

    def agreed(self, content: Mapping[str, Any] | None) -> bool:
        """Whether an accepted answer says yes."""
        return content is not None and self.guard.agreed(content, self.arguments, self.count)

    def read(self, decision: Decision) -> Decision:
        """The decision that counts and is recorded: an accepted answer that is not a yes is a no."""
        if not isinstance(decision.answer, Accepted) or self.agreed(decision.answer.data):
            return decision
        typing = self.guard.to_type(self.arguments, self.count) is not None
        return replace(decision, answer=Declined(by="answer"), reason=MISTYPED if typing else decision.reason)

    def again(self) -> FormQuestion[Any]:
        """The question for a person who mistyped."""
        hints = replace(self.question.hints, problems=((TYPED, MISTYPED),))
        return replace(self.question, message=with_reasons(self.question.message, (MISTYPED,)), hints=hints)


def rules_of(settings: Mapping[str, GuardSettings]) -> tuple[GuardRule, ...]:
    """The rules of the configuration file."""
    return tuple(
        GuardRule(
            name,
            Guard(
                message=_template(each.message),
                tools=each.tools,
                hint=each.hint,
                arguments=dict(pair.split("=", 1) for pair in each.arguments),
                above=each.above,
                typed=each.typed or None,
            ),
            each.servers,
            each.count,
            DeclinePause(each.cooldown, time.monotonic),
        )
        for name, each in settings.items()
    )


def _template(message: str) -> str:
    """The user's sentence as a template with one placeholder: the count."""
    return message.replace("{", "{{").replace("}", "}}").replace("{{count}}", "{count}")


def question_for(
    rules: tuple[GuardRule, ...],
    server: str,
    names: Iterable[str],
    arguments: Mapping[str, Any],
    annotations: Mapping[str, Any] | None,
    defaults: Mapping[str, Any] | None = NOTHING_FILLED_IN,
) -> GuardQuestion | None:
    """The question of the first rule that applies to a call; None when none does.

    `names` are the server's name and the client's name for the tool. `defaults` are the values that the server fills in
    for missing arguments; None if they are unknown.
    """
    names = tuple(names)
    for rule in rules:
        if not rule.is_for(server):
            continue
        for name in names:
            guard, count = rule.counting(name, arguments)
            guard = _filled_in(guard, arguments, defaults)
            if rule.is_about(name, annotations):
                _require_one_meaning(rule, arguments)
            if (question := guard.applies(name, annotations, arguments, count)) is not None:
                named = replace(
                    question, message=f"{_headline(rule, server, name, arguments)}\n\n{question.message}"
                )
                return GuardQuestion(rule, guard, name, arguments, count, named)
    return None


def _filled_in(guard: Guard, arguments: Mapping[str, Any], defaults: Mapping[str, Any] | None) -> Guard:
    """The guard without its patterns for missing arguments to which the server's own defaults fit.

    The attack: a call leaves out `env`, and the server takes "production". Unknown defaults may be anything.
    """
    if not (missing := [name for name in guard.arguments if name not in arguments]):
        return guard
    filled = None if defaults is None else {folded(name): value for name, value in defaults.items()}
    fitting = {
        name
        for name in missing
        if filled is None
        or (folded(name) in filled and fits({name: filled[folded(name)]}, name, guard.arguments[name]))
    }
    return replace(
        guard, arguments={name: each for name, each in guard.arguments.items() if name not in fitting}
    )


def _headline(rule: GuardRule, server: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """Who asks: the user's own rule, and not the server. A tool's name must not go on in the rule's name."""
    called = f"{for_line(tool, limit=_LONGEST_NAME)}({'...' if arguments else ''})"
    return f"Your rule {rule.name!r} asks before {for_line(server, limit=_LONGEST_NAME)} calls {called}."


def _require_one_meaning(rule: GuardRule, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that a server may read differently: some servers ignore the case of names.

    The attack: the rule looks at `amount`, the call sends `Amount`, and the server uses it.
    """
    looked_at = {folded(name): name for name in (*rule.guard.arguments, rule.count, rule.guard.typed or "")}
    for name in arguments:
        if looked_at.get(folded(name), name) != name:
            said = for_line(name, limit=_LONGEST_NAME)
            raise _ambiguous(f"has the argument {said!r} instead of {looked_at[folded(name)]!r}")
    if _has_twins(arguments):
        raise _ambiguous("names a member of an object twice, in different case")


def _has_twins(value: object) -> bool:
    if isinstance(value, Mapping):
        alike = len({folded(name) for name in value}) < len(value)
        return alike or any(map(_has_twins, value.values()))
    return isinstance(value, list) and any(map(_has_twins, value))


def _ambiguous(how: str) -> GuardRefused:
    return GuardRefused(
        f"this call {how}, which servers read in different ways. Write it anew.", category="ambiguous"
    )


def mistyped(decision: Decision) -> bool:
    """Whether the person typed something else than the guard wants."""
    return isinstance(decision.answer, Declined) and decision.reason == MISTYPED


def refusal(asked: GuardQuestion | None, decision: Decision | None, call: RelayedCall) -> Message | None:
    """The refusal for the client; None when the person said yes. Without a decision nobody could be asked."""
    match None if decision is None else decision.answer:
        case Accepted(content) if asked is not None and asked.agreed(content):
            return None
        case Declined() if decision is not None and mistyped(decision):
            return _told(call, "not_confirmed", "the user did not type what had to be typed for a yes")
        case Declined():
            return _told(call, "user_declined", f"the user declined this call of {call.name}")
        case Cancelled() if decision is not None and decision.desk and not decision.reason:
            return _told(call, "user_cancelled", "the user dismissed the question without deciding")
        case _:
            reason = "nobody could be asked" if decision is None else decision.reason or "nobody answered"
            return _told(
                call, "no_answer", f"a guard of the user's asks first, and there is no answer ({reason})"
            )


def _told(call: RelayedCall, category: str, why: str) -> Message:
    text = f"{category}: {why}. The call did not reach the server; nothing was done."
    return text_result(call, text, failed=True, _meta={CATEGORY: category})


class ToolHints:
    """The annotations of tools, as servers listed them."""

    def __init__(self) -> None:
        self._listed: dict[str, dict[str, Any]] = {}

    def note(self, message: Message) -> None:
        """Remember the annotations in a list of tools."""
        for tool in objects_in(message.result or {}, "tools"):
            if isinstance(name := tool.get("name"), str):
                self._listed[name] = read_by_guards(tool)
        while len(self._listed) > _MOST_TOOLS:  # a tool that was not listed counts as destructive
            del self._listed[next(iter(self._listed))]

    def of(self, tool: str, listed: Mapping[str, Any] | None = None) -> Mapping[str, Any] | None:
        """A tool's annotations; None when it was not listed.

        `listed`: what the server of this very call says about it, if that is known. The attack: behind a gateway with
        several servers, a server lists a tool as harmless, and another server has the tool of this name by now.
        """
        known = self._listed.get(tool) if listed is None else listed
        return None if known is None else known.get("annotations", {})

    def defaults(self, tool: str, listed: Mapping[str, Any] | None = None) -> Mapping[str, Any] | None:
        """The values that the server fills in for missing arguments; None when the tool was not listed."""
        known = self._listed.get(tool) if listed is None else listed
        return None if known is None else known.get("defaults")


class GuardDesk(OurDesk):
    """Our desk for the question of a guard: an accepted answer that is not a yes becomes a no."""

    def __init__(self, asking: QuestionHandler, server: str, asked: GuardQuestion) -> None:
        super().__init__(asking, server)
        self._asked = asked

    async def put(self, waiting: Waiting) -> Decision:
        return self._asked.read(await super().put(waiting))


async def guard_call(
    state: GatewayState,
    holding: Holding,
    hints: ToolHints,
    call: RelayedCall,
    place: Destination,
    asker: Asker,
    *,
    again: bool,
) -> Message | None:
    """Ask the person before a call, if a rule wants that. Returns the refusal; None when the call may go to its server.

    `again`: a guard asked in a process that is gone. If that guard no longer exists, the call is refused.
    """
    asked, decision = None, None
    try:
        rules = await state.guards()
        if not rules and not again:
            return None
        names = dict.fromkeys((name_of(place.message), call.name))
        said, defaults = hints.of(call.name, place.listed), hints.defaults(call.name, place.listed)
        asked = question_for(rules, asker.upstream.name, names, call.arguments, said, defaults)
        if asked is None and again:
            why = "the guard that asked the user about this call was removed, and they had not answered"
            return _told(call, "no_answer", why)
        if asked is None:
            return None
        asked.rule.quiet.require_over(asker.person.key, asked.tool)
        if state.options.desk != "none":
            asking = await state.asking()
            call.round = NOT_SENT
            with holding.hold([call]):
                decision = await _ask(asking, asker, call, asked)
            call.round = None
            if isinstance(decision.answer, Declined):
                asked.rule.quiet.begin(asker.person.key, asked.tool)
    except GuardRefused as error:  # too soon after a decline, or ambiguous
        return _told(call, error.category, str(error).partition(". ")[0])
    except HandraiseError as error:
        logger.error("a guard could not ask: %s", error)
    return refusal(asked, decision, call)


async def _ask(asking: QuestionHandler, asker: Asker, call: RelayedCall, asked: GuardQuestion) -> Decision:
    """Ask the person about a call; again if they mistype."""
    desk, july = GuardDesk(asking, asker.upstream.name, asked), Revision.JULY_2026
    decision = await asking.decide(asked.question, july, asker, [call], desk, guard=True)
    for _ in range(_REASKS):
        if not mistyped(decision):
            break
        decision = await asking.decide(asked.again(), july, asker, [call], desk, guard=True)
    return decision
