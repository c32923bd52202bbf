"""A first set-up: ordinary fields and secrets on one page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from tests.pages.house import House

from handraise.errors import DefinitionError
from handraise.forms import Form, Text
from handraise.pages import SecretField, Setup, SetupPage
from handraise.questions import Accepted
from handraise.vault import Secret


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
