"""The relay on 2026-07-28, where a server asks by ending the round and the client answers by repeating its request."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from handraise.errors import HandraiseError, WireError
from handraise.gateway.calls import Call
from handraise.gateway.home import CANNOT_ASK
from handraise.gateway.links import Port
from handraise.gateway.messages import Message, fault, response
from handraise.gateway.passing_round import Round, questions_in, round_key
from handraise.gateway.peers import (
    CAPABILITIES_KEY,
    MODERN,
    Peer,
    claimed_in,
    envelope_of,
    peer_of_envelope,
    union,
)
from handraise.gateway.relay import ASKER_ENDED, Relay
from handraise.gateway.requests import params_at_first
from handraise.gateway.upstreams import Source

_MOST_ROUNDS: Final = 256
_ROUNDS_A_CALL: Final = 20


class ModernRelay(Relay):
    """Between a client and its server, both without a handshake."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._rounds: OrderedDict[tuple[str, ...], Round] = OrderedDict()
        self._begun_with: dict[str, Any] = {}
        """The envelope of the client's first request, for calls that a client of the revisions before made."""

    async def aclose(self) -> None:
        for round_ in self._rounds.values():
            round_.end()
        await super().aclose()

    def _lost(self, source: Source, last: bool) -> None:
        for state in [state for state, round_ in self._rounds.items() if round_.source is source]:
            self._rounds.pop(state).end(ASKER_ENDED)
        super()._lost(source, last)

    def _peer_of(self, message: Message) -> Peer | None:
        return peer_of_envelope(message.params)

    def _prepared(self, call: Call) -> Message:
        """Every request tells the server what our desk can do beside what the client can."""
        message, peer = call.message, call.peer
        if peer is None or not self.home.serves(peer):
            return message
        declared = union(peer.capabilities, self.home.modes)
        meta = {**message.params["_meta"], CAPABILITIES_KEY: declared}
        return message.with_(params={**message.params, "_meta": meta})

    def _take_request(self, message: Message, port: Port) -> Call:
        if not self._begun_with:
            self._begun_with = envelope_of(message.params)
            self.revive()
        state = message.params.get("requestState") if self._rounds else None
        round_ = self._rounds.get(round_key(state, message)) if isinstance(state, str) else None
        if round_ is None:
            return super()._take_request(message, port)
        call = self._made(message, port)
        self.run(self._retry(call, round_), call)
        return call

    async def _retry(self, call: Call, round_: Round) -> None:
        """The client answers a round: its answers go on as they came, unless they may not leave."""
        call.cause = round_.cause
        sent = call.message.params.get("inputResponses")
        sent = sent if isinstance(sent, dict) else {}
        answers = await round_.answers(sent)
        call.notes.extend(round_.notes)
        if round_.later:
            await self._ask_later(call, round_, answers)
            return
        prepared = self._prepared(call)
        if answers != sent:
            prepared = prepared.with_(params={**prepared.params, "inputResponses": answers})
        self.forward(call, prepared)

    async def _ask_later(self, call: Call, round_: Round, answers: dict[str, Any]) -> None:
        """The client did its part of a round; what is left is for our desk, where the call may wait as any other."""
        if await self.holding.join(call):
            return
        self.calls[call.key] = call
        state = call.message.params["requestState"]
        rest = {"inputRequests": round_.later, "requestState": state, "inputResponses": answers}
        self._again(call, rest, round_.source)

    def _take_server_request(self, message: Message) -> None:
        """There are none on this revision: a question comes in a round. Nobody is shown what comes nevertheless."""
        self.run(self._refuse(message))

    async def _refuse(self, message: Message) -> None:
        """Record a server's request, then tell the server."""
        with contextlib.suppress(HandraiseError):  # it is logged, and nothing was passed on
            asking = await self.home.asking()
            from handraise.gateway.asking import Asker

            why = WireError(str(message.method), "On 2026-07-28 a server asks in a round, not by a request.")
            await asking.refuse(why, MODERN, Asker(message.source, self.person, None), [])
        self._link.send(fault(message.id, -32601, "2026-07-28 has no requests from a server to a client."))

    def _finish(self, call: Call, message: Message) -> None:
        if message.source is not None and not message.source.revision:
            message.source.revision = MODERN
            message.source.claimed = claimed_in(message.result or {})
        if message.asks and call.may_ask:
            self.calls[call.key] = call  # it is not over: it may be cancelled, and its server may be gone
            self.run(self._ask(call, message), call)
        else:
            super()._finish(call, message)

    async def _ask(self, call: Call, message: Message) -> None:
        """A round asks for input: what is for our desk is asked there, the rest goes on to the client."""
        result = message.result or {}
        requests = result.get("inputRequests")
        requests = requests if isinstance(requests, dict) else {}
        state, asked = result.get("requestState"), questions_in(requests)
        mixed = len(asked) < len(requests)
        if not asked or (mixed and call.parked is not None):
            self._remember(call, state, Round(message.source))
            self._pass(call, message)
            return
        later = {key: each for key, each in asked.items() if mixed and self._is_for_desk(call, each)}
        await self._keep(call, message, {"inputRequests": requests, "requestState": state})
        now = {key: each for key, each in asked.items() if key not in later}
        round_ = await self._decide(call, message, now) if now else Round(message.source)
        round_.later = later
        left = {key: each for key, each in requests.items() if key not in {**round_.decided, **later}}
        if left:
            self._remember(call, state, round_)
            unchanged = len(left) == len(requests)
            self._pass(
                call, message if unchanged else message.with_(result={**result, "inputRequests": left})
            )
        else:
            call.notes.extend(round_.notes)
            await self._answer(call, state, round_.decided)

    def _is_for_desk(self, call: Call, request: Mapping[str, Any]) -> bool:
        return self.home.asks_here(call.peer, str(request["params"].get("mode", "form")))

    async def _decide(self, call: Call, message: Message, asked: Mapping[str, Any]) -> Round:
        """Have every question admitted or decided."""
        round_ = Round(message.source)
        try:
            asking = await self.home.asking()
        except HandraiseError:
            round_.decided = {key: {"action": "cancel"} for key in asked}
            round_.notes.append(CANNOT_ASK)
            return round_
        from handraise.gateway.asking import Asker
        from handraise.gateway.deciding import Deciding

        asker = Asker(message.source, self.person, call.peer)
        among = [self.calls[id] for id in message.among if id in self.calls] or [call]
        await Deciding(self.home, self.holding, asking, asker, call, among, round_).decide(asked)
        return round_

    async def _keep(self, call: Call, message: Message, round: dict[str, Any]) -> None:
        """Remember what was asked, so that another process could go on with it."""
        given = {"inputResponses": call.given} if call.given else {}
        call.round = None if message.bridged else {**round, **given}
        if call.parked is not None and (keeper := self.home.keeper) is not None:
            await keeper.ask(call.parked, call.round)

    def _begun(self, method: str, params: dict[str, Any]) -> Call:
        return super()._begun(method, {**params, "_meta": {**params.get("_meta", {}), **self._begun_with}})

    def _reissue(self, call: Call, round: dict[str, Any]) -> bool:
        self._again(call, round, self._link.source_of(call.message))
        return True

    def _again(self, call: Call, round: Mapping[str, Any], source: Source) -> None:
        """Have a round asked here, with what its client answered of it already kept for the server."""
        call.given = round.get("inputResponses", {})
        asks = {name: value for name, value in round.items() if name != "inputResponses"}
        asked = response(call.key, {"resultType": "input_required", **asks})
        asked.source = source
        self._finish(call, asked)

    async def _answer(self, call: Call, state: object, answers: Mapping[str, Any]) -> None:
        """Repeat the request with the answers, and with the server's state exactly as it came."""
        call.rounds += 1
        if call.rounds > _ROUNDS_A_CALL:
            self.calls.pop(call.key, None)
            self.end(call, fault(call.message.id, -32603, "The server asked too many questions in one call."))
            return
        if not await self.holding.release(call):
            return
        prepared = self._prepared(call)
        params = params_at_first(prepared)
        params["inputResponses"] = {**call.given, **answers}
        if state is not None:
            params["requestState"] = state
        self.calls.pop(call.key, None)
        call.key, call.given = self._new_key(), {}
        self.forward(call, prepared.with_(params=params))

    def _pass(self, call: Call, message: Message) -> None:
        """Send a round on to the client, which goes on by itself."""
        self.calls.pop(call.key, None)
        if call.parked is not None:
            text = "The server wants something from the client itself, which does not wait for it any more."
            self.end(call, fault(call.message.id, -32603, text))
        else:
            call.answer(message)

    def _remember(self, call: Call, state: object, round_: Round) -> None:
        """Know the retry when it comes: for its answers, and so that a guard does not ask about it again."""
        matters = round_.at_client or round_.decided or round_.later or self.home.may_guard
        if not isinstance(state, str) or not matters:
            return
        round_.cause = call.cause
        self._rounds[round_key(state, call.message)] = round_
        while len(self._rounds) > _MOST_ROUNDS:
            self._rounds.popitem(last=False)[1].end()
