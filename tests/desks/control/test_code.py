"""The code that answering by id needs: typed as people type, bound to its answer, and not to be guessed."""

from __future__ import annotations

import pytest

from handraise.desks.control import AnswerCode
from handraise.desks.control.code import FREE_TRIES, PAUSE, prove

DECLINE = {"action": "decline"}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.shows("D9")
async def test_the_code_is_right_however_somebody_writes_it() -> None:
    code = AnswerCode()
    for written in (code.shown(), code.shown().lower(), code.shown().replace("-", " ")):
        proof = prove(written, "nonce", "id", DECLINE, False)
        assert await code.check(proof, "nonce", "id", DECLINE, False) == "right"


async def test_letters_that_look_alike_are_read_as_one() -> None:
    assert prove("O1IL", "n", "id", {}, False) == prove("0111", "n", "id", {}, False)


async def test_a_proof_fits_one_visit_and_one_answer_only() -> None:
    code = AnswerCode()
    proof = prove(code.shown(), "nonce", "id", DECLINE, False)
    accept = {"action": "accept", "content": {}}
    assert await code.check(proof, "another visit", "id", DECLINE, False) == "wrong"
    assert await code.check(proof, "nonce", "another", DECLINE, False) == "wrong"
    assert await code.check(proof, "nonce", "id", accept, False) == "wrong"
    assert await code.check(proof, "nonce", "id", DECLINE, True) == "wrong"


async def test_after_some_wrong_ones_most_tries_are_not_looked_at() -> None:
    clock = Clock()
    code = AnswerCode(clock)
    right = prove(code.shown(), "n", "id", DECLINE, False)
    for _ in range(FREE_TRIES):
        assert await code.check("0" * 64, "n", "id", DECLINE, False) == "wrong"
    assert await code.check(right, "n", "id", DECLINE, False) == "wait"
    clock.now += PAUSE
    assert await code.check(right, "n", "id", DECLINE, False) == "right"
    assert await code.check(right, "n", "id", DECLINE, False) == "right", "a right one ends the waiting"


def test_two_processes_have_two_codes_and_neither_is_in_a_log() -> None:
    one, other = AnswerCode(), AnswerCode()
    assert one.shown() != other.shown()
    assert one.shown() not in repr(one)
