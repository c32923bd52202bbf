"""Secrets and first set-ups are entered on a page, checked while the person is there, and given back from the vault."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from tests.pages.house import TOKEN, VALUE, House

from handraise.errors import DefinitionError
from handraise.forms import Form, Text
from handraise.pages import SecretField, SecretPage, Setup, SetupPage, entry_pages
from handraise.pages.entry_pages import ONE
from handraise.questions import Accepted
from handraise.vault import Secret

AWS: SecretPage[Mapping[str, Secret]] = SecretPage(
    "AWS keys",
    (
        SecretField("id", "Access key", min_length=20, max_length=20),
        SecretField("key", "Secret key", description="From the security page."),
        SecretField("session", "Session token", required=False, multiline=True),
    ),
    service="aws",
)


async def test_several_fields_are_masked_and_none_is_filled_in() -> None:
    house = House()
    visit, browser = house.ask(AWS), house.browser()
    await browser.open(visit)
    assert browser.text.count('type="password"') == 2
    assert browser.text.count("<textarea") == 1
    assert " value=" not in browser.text.partition("<dl")[2].partition('name="do"')[0]


async def test_several_secrets_come_as_a_mapping_without_what_was_left_out() -> None:
    house = House()
    visit, browser = house.ask(AWS), house.browser()
    await browser.open(visit)
    await browser.post(visit, {"do": "enter", "s0": "A" * 20, "s1": "  pasted\r\n", "s2": ""})
    assert house.answer == Accepted({"id": Secret("A" * 20), "key": Secret("pasted")})


async def test_all_problems_are_told_at_once_and_do_not_repeat_what_was_typed() -> None:
    house = House()
    visit, browser = house.ask(AWS), house.browser()
    await browser.open(visit)
    response = await browser.post(visit, {"do": "enter", "s0": "AKIAshort"})
    assert response.status_code == 422
    assert "It has 9 characters; at least 20 are expected." in browser.text
    assert "Please fill this in." in browser.text
    assert "AKIAshort" not in browser.text
    assert 'aria-describedby="s0-problem' in browser.text
    assert house.settled == []


async def test_a_key_of_several_lines_keeps_them() -> None:
    page: SecretPage[Secret] = SecretPage("Key", (SecretField(ONE, multiline=True),))
    house = House()
    visit, browser = house.ask(page), house.browser()
    await browser.open(visit)
    await browser.enter(visit, "-----BEGIN\r\nabc\r\n-----END\r\n")
    assert house.answer == Accepted(Secret("-----BEGIN\nabc\n-----END"))


def _refuses(_: Secret) -> bool:
    return False


def _explains(_: Secret) -> str:
    return "GitHub does not know this token."


def _raises(_: Secret) -> None:
    raise ValueError("It has expired.")


async def _breaks(secret: Secret) -> None:
    raise RuntimeError(f"connection with {secret.reveal()} failed")


async def _hangs(_: Secret) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (_refuses, "This was not taken"),
        (_explains, "GitHub does not know this token."),
        (_raises, "It has expired."),
        (_breaks, "could not be checked just now"),
        (_hangs, "could not be checked just now"),
    ],
)
@pytest.mark.shows("S5")
async def test_the_authors_check_has_the_person_correct_it_and_nothing_is_logged(
    check: Any, sentence: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_pages, "_PATIENCE", 0.02)
    caplog.set_level(logging.DEBUG)
    page: SecretPage[Secret] = SecretPage("Key", (SecretField(ONE),), check=check)
    house = House()
    visit, browser = house.ask(page), house.browser()
    await browser.open(visit)
    assert (await browser.enter(visit)).status_code == 422
    assert sentence in browser.text
    assert VALUE not in browser.text + caplog.text
    assert house.settled == []


async def test_a_check_that_takes_it_lets_it_pass() -> None:
    seen: list[Secret] = []
    page: SecretPage[Secret] = SecretPage("Key", (SecretField(ONE),), check=seen.append)
    house = House()
    visit, browser = house.ask(page), house.browser()
    await browser.open(visit)
    assert (await browser.enter(visit)).status_code == 303
    assert seen == [Secret(VALUE)]


async def test_what_the_vault_kept_serves_while_the_page_asks_for_the_same() -> None:
    assert await TOKEN.recall(TOKEN.dump(Secret(VALUE))) == Secret(VALUE)
    secrets = {"id": Secret("A" * 20), "key": Secret("b")}
    assert await AWS.recall(AWS.dump(secrets)) == secrets
    assert await AWS.recall({"id": "A" * 20}) is None
    assert await AWS.recall({"id": "a", "key": "b", "more": "c"}) is None


def test_a_page_that_cannot_be_is_refused_where_it_is_made() -> None:
    with pytest.raises(DefinitionError):
        SecretPage("Key", ())
    with pytest.raises(DefinitionError):
        SecretPage("Key", (SecretField("a"), SecretField("a")))
    with pytest.raises(DefinitionError):
        SecretField("a", min_length=5, max_length=4)
    with pytest.raises(DefinitionError, match="pattern"):
        SecretField("a", pattern="(?=look)")


@dataclass
class Mail:
    host: str
    port: int = 993
    security: Literal["tls", "starttls"] = "tls"


PAGE = SetupPage("Mail account", Form.of(Mail), (SecretField("password", "Password"),), service="mail")
GOOD = {"do": "enter", "f0": "mail.example", "f1": "143", "f2": "1", "s0": "hunter2"}


async def test_ordinary_and_secret_fields_come_from_one_page() -> None:
    house = House()
    visit, browser = house.ask(PAGE), house.browser()
    await browser.open(visit)
    assert 'value="993"' in browser.text
    assert browser.text.count('type="password"') == 1
    assert (await browser.post(visit, GOOD)).status_code == 303
    answer = house.answer
    assert isinstance(answer, Accepted)
    assert answer.data.data == Mail("mail.example", 143, "starttls")
    assert answer.data.secrets == {"password": Secret("hunter2")}
    assert "hunter2" not in repr(answer)


async def test_a_problem_keeps_what_is_ordinary_and_drops_what_is_secret() -> None:
    house = House()
    visit, browser = house.ask(PAGE), house.browser()
    await browser.open(visit)
    assert (await browser.post(visit, {**GOOD, "f1": "many"})).status_code == 422
    assert "Enter a whole number." in browser.text
    assert 'value="mail.example"' in browser.text
    assert "hunter2" not in browser.text
    assert (await browser.post(visit, {**GOOD, "s0": ""})).status_code == 422
    assert house.settled == []


async def test_the_authors_check_sees_everything() -> None:
    def check(setup: Setup[Mail]) -> str | None:
        return None if setup.secrets["password"].reveal() == "right" else f"{setup.data.host} refuses."

    page = SetupPage("Mail", Form.of(Mail), (SecretField("password"),), check=check)
    house = House()
    visit, browser = house.ask(page), house.browser()
    await browser.open(visit)
    assert (await browser.post(visit, GOOD)).status_code == 422
    assert "mail.example refuses." in browser.text
    assert (await browser.post(visit, {**GOOD, "s0": "right"})).status_code == 303


async def test_what_the_vault_kept_serves_while_the_form_fits() -> None:
    content = {"host": "mail.example", "port": 143, "security": "tls"}
    setup = Setup(Mail("mail.example", 143, "tls"), {"password": Secret("x")}, content)
    kept = PAGE.dump(setup)
    assert await PAGE.recall(kept) == setup
    assert await PAGE.recall({**kept, "content": {"host": 5}}) is None
    assert await PAGE.recall({**kept, "secrets": {}}) is None


def test_two_fields_of_one_name_are_refused() -> None:
    with pytest.raises(DefinitionError):
        SetupPage("Mail", Form.by_hand(Text("password")), (SecretField("password"),))
