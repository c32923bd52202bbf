"""The relay for 2026-07-28, where a server asks by ending the round and the client answers with a retry."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from handraise.client.calls import HostCall
from handraise.client.consent import dump_as_answer, dump_unasked, dump_unshown
from handraise.client.recording import ASKER_ENDED
from handraise.desks import Decision
from handraise.errors import HandraiseError, WireError
from handraise.gateway.asking import Asker, QuestionHandler, as_judged, note_for_model
from handraise.gateway.call import RelayedCall
from handraise.gateway.client_desk import ClientDesk, answers_in, is_too_long
from handraise.gateway.links import Port
from handraise.gateway.messages import (
    ELICIT,
    MOST_ROUNDS,
    NAMED,
    SERVER_FAULT,
    Message,
    error_response,
    object_in,
    response,
    too_many_rounds,
    unknown_target,
)
from handraise.gateway.peers import (
    CAPABILITIES_KEY,
    MODERN,
    ROUND,
    Peer,
    add_modes,
    call_identity,
    envelope_of,
    params_without_round,
    peer_of_envelope,
    server_info_in,
)
from handraise.gateway.relay import Relay
from handraise.gateway.sentences import CANNOT_ASK, not_shown, text_result
from handraise.gateway.upstreams import Source
from handraise.questions import Accepted, UrlQuestion

_MOST_ROUNDS: Final = 256
_KEPT: Final = 30.0
"""Seconds that the outcome of a retry is kept for a client that sends the retry again."""
_INVALID: Final = "Invalid or expired requestState."
_DISCOVER: Final = "server/discover"


class RelayedRound:
    """A round at the client, with the answers that were decided without the client."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.began = time.monotonic()
        self.at_client: dict[str, tuple[ClientDesk, asyncio.Future[Decision]]] = {}
        self.decided: dict[str, dict[str, Any]] = {}
        self.later: dict[str, Mapping[str, Any]] = {}
        """Questions for our desk. They are asked after the client did its part, so that it need not wait for them."""
        self.asked: frozenset[str] = frozenset()
        """Keys of the questions that the client got. Its answers to other keys are dropped."""
        self.notes: list[str] = []
        self.opened = False
        """Whether the person opened a link of the round at our desk."""
        self.reported: HostCall | None = None
        """The call as desks know it. The retry continues it."""
        self.sent: str | None = None
        """The client's answers in canonical form, once it used the round."""
        self.given: dict[str, Any] | None = None
        """The answers that went to the server."""
        self.retry: RelayedCall | None = None
        """The call that used the round, while it runs and shortly after."""

    def use(self, retry: RelayedCall, sent: str) -> None:
        """Use the round for one retry. The same retry again gets the same outcome."""
        self.sent, self.retry = sent, retry
        retry.outcome = asyncio.get_running_loop().create_future()
        retry.outcome.add_done_callback(self._keep_a_while)

    def _keep_a_while(self, outcome: asyncio.Future[Message]) -> None:
        asyncio.get_running_loop().call_later(0 if outcome.cancelled() else _KEPT, self._forget)

    def _forget(self) -> None:
        self.retry = None

    def end(self, why: str | None = None) -> None:
        """Withdraw the questions at the client."""
        for _, deciding in self.at_client.values():
            deciding.cancel(why)
        if self.reported is not None:
            self.reported.end(None)

    async def answers(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """The answers for the server: the client's, after the policy judged them, and ours."""
        long = is_too_long([sent.get(key) for key in self.at_client])
        for key, (at_client, _) in self.at_client.items():
            at_client.answer(None if long else sent.get(key))
        answers = {**sent, **self.decided}
        for key, (at_client, deciding) in self.at_client.items():
            decision = await deciding
            result = at_client.own_result(decision)
            answers[key] = dump_as_answer(decision) if result is None else result
            if (note := note_for_model(decision, self.source.upstream.name)) is not None:
                self.notes.append(note)
        return answers


class ModernRelay(Relay):
    """The relay for a client that sends no `initialize`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._rounds: OrderedDict[tuple[str | None, ...], RelayedRound] = OrderedDict()
        self._begun_with: dict[str, Any] = {}
        """The envelope of the client's first request, for calls that a legacy client made."""

    @property
    def is_busy(self) -> bool:
        """Also while its client has a round that may still be answered."""
        oldest = time.monotonic() - self.state.options.wait
        waits = (each.sent is None and each.began > oldest for each in self._rounds.values())
        return super().is_busy or any(waits)

    def falls_back(self, message: Message) -> bool:
        """Whether the client goes on as a legacy client, because its `server/discover` was not answered in time."""
        return message.method == "initialize" and not self._begun_with

    def _begin_with(self, message: Message) -> None:
        """The client will not fall back any more."""
        if not self._begun_with:
            self._begun_with = envelope_of(message.params)
            self.revive()

    async def aclose(self) -> None:
        for round_ in self._rounds.values():
            round_.end()
        await super().aclose()

    def _lost(self, source: Source, last: bool) -> None:
        for state in [state for state, round_ in self._rounds.items() if round_.source is source]:
            self._rounds.pop(state).end(ASKER_ENDED)
        super()._lost(source, last)

    def _peer_of(self, message: Message) -> Peer | None:
        return peer_of_envelope(message.params, self.user)

    def _prepared(self, call: RelayedCall) -> Message:
        """Add our desk's modes to the capabilities in the request."""
        message, peer = call.message, call.peer
        if peer is None or not self.state.needs_desk(peer):
            return message
        declared = add_modes(peer.capabilities, self.state.modes)
        meta = {**message.meta, CAPABILITIES_KEY: declared}
        return message.with_(params={**message.params, "_meta": meta})

    def _take_request(self, message: Message, port: Port) -> RelayedCall:
        if message.method != _DISCOVER:
            self._begin_with(message)
        if message.method not in NAMED or all(message.params.get(name) is None for name in ROUND):
            return super()._take_request(message, port)
        call = self._new_call(message, port)
        state = message.params.get("requestState")
        round_ = self._rounds.get(_round_key(state, message)) if isinstance(state, str | None) else None
        self.run(self._take_unasked(call) if round_ is None else self._go_on(call, round_), call)
        return call

    async def _take_unasked(self, call: RelayedCall) -> None:
        """Handle an answer to a round that this process did not pass on, as after a restart of the gateway.

        The answer is recorded. It is passed on only to a server that can continue calls of another process, and only
        from a client that is asked such questions.
        """
        if (place := await self._link.locate(call.message)) is None:
            self.end(call, unknown_target(call.message.id))
            return
        if not place.source.revision:  # the server has not said yet whether it can continue
            probe = self._new_orphan(_DISCOVER, {})
            probe.outcome = asyncio.get_running_loop().create_future()
            self.forward(probe)
            await asyncio.wait({probe.outcome})
        passes = place.source.can_go_on and await self._may_have_asked(call)
        try:
            asking = await self.state.asking()
            await asking.note_unasked(self._asker(place.source, call.peer), call, passes=passes)
        except HandraiseError:
            self.end(call, text_result(call, CANNOT_ASK, failed=True))
            return
        if passes:
            self._begin(call)
        else:
            self.end(call, error_response(call.message.id, -32602, _INVALID))

    async def _may_have_asked(self, call: RelayedCall) -> bool:
        """Whether the client may have got, in another process, the questions that it answers.

        The attack: it invents an answer. Then it has no state of a round, or our desk asks such questions.
        """
        await self._read_guards()
        if not answers_in(call.message):
            return True
        by_client = bool(self.state.client_modes(call.peer)) and not self.state.needs_passkeys
        return by_client and bool(call.message.params.get("requestState"))

    async def _go_on(self, call: RelayedCall, round_: RelayedRound) -> None:
        """Handle the client's retry. A round, and with it a guard's approval, is used once."""
        given = object_in(call.message.params, "inputResponses")
        sent = {key: each for key, each in given.items() if key in round_.asked}
        canonical = json.dumps(sent, sort_keys=True)
        if round_.sent is None:
            round_.use(call, canonical)
            await self._retry(call, round_, sent)
        elif round_.sent != canonical:
            self.end(call, error_response(call.message.id, -32602, _INVALID))
        elif round_.retry is not None and round_.retry.outcome is not None:
            outcome = round_.retry.outcome
            await asyncio.wait({outcome})
            text = "The call was cancelled."
            self.end(
                call, error_response(None, SERVER_FAULT, text) if outcome.cancelled() else outcome.result()
            )
        elif round_.given is not None:
            params = {**call.message.params, "inputResponses": round_.given}
            call.message = call.message.with_(params=params)
            self._begin(call)
        elif (found := await self.holding.find_same(call)) is not None:
            await self._wait_for(call, found)
        else:
            self.end(call, error_response(call.message.id, -32602, _INVALID))

    async def _retry(self, call: RelayedCall, round_: RelayedRound, sent: Mapping[str, Any]) -> None:
        """Send the retry with the answers that may leave, or ask the rest at our desk first."""
        call.reported = round_.reported
        if not round_.source.upstream.itself:
            call.message.source = (
                round_.source
            )  # the answers are for this server, whichever has the tool by now
        with self.holding.hold([call] if round_.at_client else []):
            answers = await round_.answers(sent)
        call.note(*round_.notes)
        if round_.later:
            await self._ask_later(call, round_, answers)
        elif await self.holding.release(call):
            round_.given = answers
            prepared = self._prepared(call)
            if answers != prepared.params.get("inputResponses", {}):
                prepared = prepared.with_(params={**prepared.params, "inputResponses": answers})
            self.forward(call, prepared)

    async def _ask_later(self, call: RelayedCall, round_: RelayedRound, answers: dict[str, Any]) -> None:
        """Ask the rest of a round at our desk, after the client did its part."""
        if (found := await self.holding.find_same(call)) is not None:
            await self._wait_for(call, found)
            return
        state = call.message.params["requestState"]
        rest = {"inputRequests": round_.later, "requestState": state, "inputResponses": answers}
        self._ask_again(call, rest, round_.source)

    def _take_server_request(self, message: Message) -> None:
        self.run(self._refuse(message))

    def _finish(self, call: RelayedCall, message: Message) -> None:
        if message.source is not None and not message.source.revision:
            message.source.revision = MODERN
            message.source.claimed = server_info_in(message.result or {})
        if call.message.method == _DISCOVER:
            self._begin_with(call.message)
        if message.asks and call.may_ask:
            self.run(self._ask(call, message), call)
        else:
            super()._finish(call, message)

    async def _ask(self, call: RelayedCall, message: Message) -> None:
        """Ask the questions of a round: some at our desk, the rest through the client."""
        result = message.result or {}
        requests = object_in(result, "inputRequests")
        state, asked = result.get("requestState"), _questions_in(requests)
        mixed = len(asked) < len(requests)
        if not asked or (mixed and call.parked is not None):
            if not asked:
                self._remember(call, state, RelayedRound(message.source), requests)
            self._pass(call, message)
            return
        later = {
            key: each
            for key, each in asked.items()
            if mixed and self.state.is_for_desk(call.peer, str(each["params"].get("mode", "form")))
        }
        await self._keep(call, message, {"inputRequests": requests, "requestState": state})
        now = {key: each for key, each in asked.items() if key not in later}
        round_ = await self._decide(call, message, now) if now else RelayedRound(message.source)
        round_.later = later
        done = {**round_.decided, **later}
        left = {key: _for_client(each) for key, each in requests.items() if key not in done}
        if left:
            self._remember(call, state, round_, left)
            changed = left != requests
            self._pass(call, message.with_(result={**result, "inputRequests": left}) if changed else message)
        else:
            call.note(*round_.notes)
            if round_.opened:
                self.holding.hold_for_page([call])
            await self._answer(call, state, round_.decided)

    async def _decide(self, call: RelayedCall, message: Message, asked: Mapping[str, Any]) -> RelayedRound:
        """Pass each question of a round to the client, or decide it without the client."""
        round_ = RelayedRound(message.source)
        try:
            asking = await self.state.asking()
        except HandraiseError:
            round_.decided = {key: dump_unasked() for key in asked}
            round_.notes.append(CANNOT_ASK)
            return round_
        asker = self._asker(message.source, call.peer)
        among = [self.calls[id] for id in message.among if id in self.calls] or [call]
        call.host_call.begin_round(call.rounds, len(asked))
        await asyncio.gather(
            *(self._decide_one(asking, asker, call, among, round_, *each) for each in asked.items())
        )
        return round_

    async def _decide_one(
        self,
        asking: QuestionHandler,
        asker: Asker,
        call: RelayedCall,
        among: list[RelayedCall],
        round_: RelayedRound,
        key: str,
        request: Mapping[str, Any],
    ) -> None:
        """Decide one question, which belongs to one of the calls in `among`."""
        try:
            question, revision = asking.parse(request["params"], MODERN)
        except WireError as error:
            await asking.refuse(error, MODERN, asker, [call])
            round_.decided[key] = dump_unshown(error)
            round_.notes.append(not_shown(error))
            return
        if self.state.is_for_desk(call.peer, question.mode):
            with self.holding.hold([call]):
                decision = await asking.decide(question, revision, asker, among)
        else:
            ours = asking.our_desk(asker)
            at_client = ClientDesk(self.state, call.peer, ours, self.holding, [call], ends_round=True)
            deciding = asyncio.ensure_future(asking.decide(question, revision, asker, among, at_client))
            if await at_client.is_shown(deciding):
                round_.at_client[key] = (at_client, deciding)
                return
            decision = await deciding
        round_.opened |= isinstance(question, UrlQuestion) and isinstance(decision.answer, Accepted)
        round_.decided[key] = dump_as_answer(decision)
        if (note := note_for_model(decision, asker.upstream.name)) is not None:
            round_.notes.append(note)

    async def _keep(self, call: RelayedCall, message: Message, round: dict[str, Any]) -> None:
        """Keep a round, so that another process can continue with it if the server can."""
        given = {"inputResponses": call.given} if call.given else {}
        call.round = {**round, **given} if message.source.can_go_on and not message.bridged else None
        if call.parked is not None and (tickets := self.state.tickets) is not None:
            await tickets.ask(call.parked, call.round)

    def _new_orphan(self, method: str, params: dict[str, Any]) -> RelayedCall:
        return super()._new_orphan(
            method, {**params, "_meta": {**params.get("_meta", {}), **self._begun_with}}
        )

    def _reissue(self, call: RelayedCall, round: dict[str, Any]) -> bool:
        self._ask_again(call, round, self._link.source_of(call.message))
        return True

    def _ask_again(self, call: RelayedCall, round: Mapping[str, Any], source: Source) -> None:
        """Ask a round here. The client's answers so far are kept for the server."""
        call.move("send")
        call.move("answer")
        call.given = round.get("inputResponses", {})
        asks = {name: value for name, value in round.items() if name != "inputResponses"}
        asked = response(call.key, {"resultType": "input_required", **asks})
        asked.source = source
        self._finish(call, asked)

    async def _answer(self, call: RelayedCall, state: object, answers: Mapping[str, Any]) -> None:
        """Repeat the request with the answers and the server's unchanged state."""
        call.rounds += 1
        if call.rounds > MOST_ROUNDS:
            self.end(call, too_many_rounds(call.message.id))
            return
        if not await self.holding.release(call):
            return
        prepared = self._prepared(call)
        params = params_without_round(prepared)
        params["inputResponses"] = {**call.given, **answers}
        if state is not None:
            params["requestState"] = state
        self.calls.pop(call.key, None)
        call.key, call.given = self._new_key(), {}
        self.forward(call, prepared.with_(params=params))

    def _pass(self, call: RelayedCall, message: Message) -> None:
        """Pass a round to the client."""
        if call.parked is not None:
            text = "The server wants something from the client itself, but the client no longer waits."
            self.end(call, error_response(call.message.id, -32603, text))
            return
        self.calls.pop(call.key, None)
        self.holding.stop(call)
        call.answer(message)

    def _remember(
        self, call: RelayedCall, state: object, round_: RelayedRound, asked: Mapping[str, Any]
    ) -> None:
        """Remember a round, to recognise its retry and not let a guard ask again."""
        if not isinstance(state, str | None):
            return
        round_.reported, round_.asked = call.reported, frozenset(asked)
        self._rounds[_round_key(state, call.message)] = round_
        while len(self._rounds) > _MOST_ROUNDS:
            self._rounds.popitem(last=False)[1].end()


def _round_key(state: str | None, message: Message) -> tuple[str | None, ...]:
    """A retry has the same state and the same call. Otherwise an approval could be used for another call."""
    digest = None if state is None else hashlib.sha256(state.encode()).hexdigest()  # a state may have 16 MiB
    return digest, *call_identity(message)


def _for_client(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """A request of a round as the client gets it.

    A link gets an `elicitationId`: 2026-07-28 needs none, but some clients cannot parse a link without one.
    """
    params = request.get("params")
    if request.get("method") != ELICIT or not isinstance(params, dict):
        return request
    id = {"elicitationId": secrets.token_urlsafe(12)} if params.get("mode") == "url" else {}
    return {**request, "params": {**id, **as_judged(params)}}


def _questions_in(requests: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The questions for a person in a round. A question without params is refused later."""
    return {
        key: each if isinstance(each.get("params"), dict) else {**each, "params": {}}
        for key, each in requests.items()
        if isinstance(each, dict) and each.get("method") == ELICIT
    }
