"""Links in URL questions and in forms."""

from __future__ import annotations

import pytest
from tests.lint.found import codes, in_tool

FIRES = {
    "http": "'http://shop.example.com/pay'",
    "a key": "f'https://shop.example.com/?api_key={key}'",
    "personal data behind an unknown host": "f'{BASE}/pay?email={name}'",
    "a sum": "'https://shop.example.com/?token=' + token",
    "another scheme": "'javascript:alert(1)'",
    "a user before the host": "'https://shop.example.com@evil.example/'",
}
SILENT = {
    "https": "'https://shop.example.com/pay'",
    "loopback": "f'http://127.0.0.1:{port}/pay/{flow}'",
    "a host known at run time": "f'http://{host}:{port}/pay'",
    "a link from elsewhere": "settings.url",
    "plain http on purpose": "'http://shop.example.com/pay', unsafe_plain_http=True",
}


@pytest.mark.parametrize("link", FIRES.values(), ids=FIRES.keys())
def test_it_fires_on(link: str) -> None:
    assert set(codes(in_tool(f"(await ask.open('Pay there', {link})).or_stop()"))) == {"HR301"}


@pytest.mark.parametrize("link", SILENT.values(), ids=SILENT.keys())
def test_it_is_silent_on(link: str) -> None:
    assert codes(in_tool(f"(await ask.open('Pay there', {link})).or_stop()")) == []


def test_required_links_are_read_too() -> None:
    assert codes("await ask.require('https://a.example.com', 'http://b.example.com')") == ["HR301"]
    assert codes("await ask.require(UrlQuestion('In', 'http://b.example.com'))") == ["HR301"]


def test_the_link_of_an_errand_is_read() -> None:
    assert codes("(await ask.outside('Pay', 'http://pay.example.com/')).or_stop()") == ["HR301"]
    assert codes("(await ask.outside('Pay', lambda errand: errand.back)).or_stop()") == []


def test_a_constant_of_the_file_is_followed() -> None:
    assert codes("PAGE = 'http://b.example.com'\nawait ask.require(PAGE)") == ["HR301"]


def test_an_address_in_a_description_is_found() -> None:
    form = "class A(BaseModel):\n    a: bool = Field(description='See www.example.com')\n"
    assert codes(form + "x = (await ask('Agreed?', A)).or_stop()") == ["HR302"]


def test_an_address_in_the_message_of_a_link_is_no_form() -> None:
    assert codes("(await ask.open('See https://a.example.com', 'https://a.example.com')).or_stop()") == []
