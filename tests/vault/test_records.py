"""A secret shows itself to nobody who does not ask for it by name."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from dataclasses import asdict, dataclass

import pytest
from pydantic_core import to_json

from handraise.vault import Secret

VALUE = "ghp_3fTq9ZsecretPART"


@pytest.mark.shows("S5")
def test_no_text_made_of_a_secret_says_what_it_is() -> None:
    secret = Secret(VALUE)
    for text in (
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>40}",
        f"{secret:s}",
        "%s %r" % (secret, secret),  # noqa: UP031
        repr([secret]),
        repr({"key": secret}),
        str(ValueError(secret)),
        to_json({"key": secret}, fallback=str).decode(),
        logging.makeLogRecord({"msg": "%s", "args": (secret,)}).getMessage(),
    ):
        assert "secret" not in text
        assert "•••" in text
    assert secret.reveal() == VALUE


@pytest.mark.shows("S5")
def test_a_secret_is_never_written_down() -> None:
    secret = Secret(VALUE)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError):
            pickle.dumps(secret, protocol)
    with pytest.raises(TypeError):
        json.dumps({"key": secret})
    with pytest.raises(TypeError):
        hash(secret)
    with pytest.raises(TypeError):
        secret.__getstate__()
    assert not hasattr(secret, "__dict__")


def test_a_copy_is_the_same_secret_and_comparing_works() -> None:
    @dataclass
    class Account:
        user: str
        password: Secret

    secret = Secret(VALUE)
    assert copy.deepcopy(secret) is secret
    assert asdict(Account("ann", secret))["password"] is secret
    assert secret == Secret(VALUE)
    assert secret != Secret("other")
    assert secret != VALUE
