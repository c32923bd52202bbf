"""A page carries the author's name, logo and colour, and stays readable."""

from __future__ import annotations

import pytest
from tests.pages.house import House

from handraise.errors import SetupError
from handraise.pages import Brand
from handraise.pages.page import _luminance

LOGO = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'


async def test_name_logo_and_colour_are_the_authors() -> None:
    house = House(brand=Brand("Acme <Notes>", LOGO, "#b00020"))
    visit, browser = house.ask(), house.browser()
    response = await browser.open(visit)
    assert "Acme &lt;Notes&gt;" in response.text
    assert "/handraise/static/logo" in response.text
    logo = await browser.get("/static/logo")
    assert (logo.content, logo.headers["content-type"]) == (LOGO, "image/svg+xml")
    assert "#b00020" in (await browser.get("/static/brand.css")).text


async def test_without_a_brand_the_look_is_the_desks() -> None:
    house = House()
    visit, browser = house.ask(), house.browser()
    await browser.open(visit)
    assert "/handraise/static/icon.svg" in browser.text
    assert "brand.css" not in browser.text
    assert (await browser.get("/static/logo")).status_code == 404


@pytest.mark.parametrize("colour", ["#000000", "#ffffff", "#777777", "#ffdd00", "#b00020", "#0b57d0"])
def test_text_on_any_colour_has_enough_contrast(colour: str) -> None:
    sheet = Brand(colour=colour).stylesheet
    ink = "#ffffff" if "; color: #ffffff" in sheet else "#000000"
    light, dark = sorted((_luminance(colour), _luminance(ink)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("colour", ["red", "#fff", "#12345g", "#000000;}"])
def test_a_colour_that_is_none_is_refused(colour: str) -> None:
    with pytest.raises(SetupError):
        Brand(colour=colour)


def test_a_logo_that_is_no_picture_is_refused() -> None:
    with pytest.raises(SetupError):
        Brand(logo=b"<html>")
