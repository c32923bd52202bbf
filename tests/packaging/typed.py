"""What a strict type checker knows of every question: a program that is checked, and never run."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from enum import Enum
from typing import assert_type

from handraise import Accepted, Cancelled, Declined, Fallback, Secret, ask
from handraise.pages import Page, SecretField, Setup
from handraise.pages.oauth import Account, Token


class Colour(Enum):
    RED = "r"


async def without_a_fallback(account: Account, page: Page[bytes], whole: bool) -> None:
    assert_type(await ask("Who?", str), Accepted[str] | Declined | Cancelled)
    assert_type(await ask.confirm("Sure?"), Accepted[bool] | Declined | Cancelled)
    assert_type(await ask.choose("Which?", Colour), Accepted[Colour] | Declined | Cancelled)
    assert_type(await ask.choose_many("Which?", {1: "One"}), Accepted[list[int]] | Declined | Cancelled)
    assert_type(await ask.text("Who?"), Accepted[str] | Declined | Cancelled)
    assert_type(await ask.number("How many?"), Accepted[float] | Declined | Cancelled)
    assert_type(await ask.number("How many?", whole=True), Accepted[int] | Declined | Cancelled)
    assert_type(await ask.number("How many?", whole=False), Accepted[float] | Declined | Cancelled)
    assert_type(await ask.number("How many?", whole=whole), Accepted[float] | Declined | Cancelled)
    assert_type(await ask.date("When?"), Accepted[datetime.date] | Declined | Cancelled)
    assert_type(await ask.open("Look", "https://example.com"), Accepted[None] | Declined | Cancelled)
    assert_type(await ask.secret("API key"), Accepted[Secret] | Declined | Cancelled)
    assert_type(
        await ask.secret("Keys", fields=[SecretField("a", "A")]),
        Accepted[Mapping[str, Secret]] | Declined | Cancelled,
    )
    assert_type(await ask.setup("Set up", str), Accepted[Setup[str]] | Declined | Cancelled)
    assert_type(await ask.outside("Pay", "https://example.com"), Accepted[None] | Declined | Cancelled)
    assert_type(await ask.connect(account), Accepted[Token] | Declined | Cancelled)
    assert_type(await ask.page(page), Accepted[bytes] | Declined | Cancelled)


async def several() -> None:
    alike = await ask.all(first=ask.text("Who?"), last=ask.text("Who else?"))
    assert_type(alike, dict[str, Accepted[str] | Declined | Cancelled])
    mixed = await ask.all(who=ask.text("Who?"), when=ask.date("When?"))
    assert_type(mixed, dict[str, Accepted[str] | Declined | Cancelled | Accepted[datetime.date]])
    later = ask.all(sure=ask.confirm("Sure?")).prepare()
    assert_type(await later, dict[str, Accepted[bool] | Declined | Cancelled])


async def with_a_fallback(account: Account, page: Page[bytes], whole: bool) -> None:
    assert_type(await ask("Who?", str, fallback=None), Accepted[str] | Declined | Cancelled | Fallback[None])
    assert_type(
        await ask.confirm("Sure?", fallback=None), Accepted[bool] | Declined | Cancelled | Fallback[None]
    )
    assert_type(
        await ask.choose("Which?", Colour, fallback=0),
        Accepted[Colour] | Declined | Cancelled | Fallback[int],
    )
    assert_type(
        await ask.choose_many("Which?", {1: "One"}, fallback=0),
        Accepted[list[int]] | Declined | Cancelled | Fallback[int],
    )
    assert_type(await ask.text("Who?", fallback=0), Accepted[str] | Declined | Cancelled | Fallback[int])
    assert_type(
        await ask.number("How many?", fallback="no"), Accepted[float] | Declined | Cancelled | Fallback[str]
    )
    assert_type(
        await ask.number("How many?", whole=True, fallback="no"),
        Accepted[int] | Declined | Cancelled | Fallback[str],
    )
    assert_type(
        await ask.number("How many?", whole=whole, fallback="no"),
        Accepted[float] | Declined | Cancelled | Fallback[str],
    )
    assert_type(
        await ask.date("When?", fallback=0), Accepted[datetime.date] | Declined | Cancelled | Fallback[int]
    )
    assert_type(
        await ask.open("Look", "https://example.com", fallback=0),
        Accepted[None] | Declined | Cancelled | Fallback[int],
    )
    assert_type(
        await ask.secret("API key", fallback=0), Accepted[Secret] | Declined | Cancelled | Fallback[int]
    )
    assert_type(
        await ask.secret("Keys", fields=[SecretField("a", "A")], fallback=0),
        Accepted[Mapping[str, Secret]] | Declined | Cancelled | Fallback[int],
    )
    assert_type(
        await ask.setup("Set up", str, fallback=0),
        Accepted[Setup[str]] | Declined | Cancelled | Fallback[int],
    )
    assert_type(
        await ask.outside("Pay", "https://example.com", fallback=0),
        Accepted[None] | Declined | Cancelled | Fallback[int],
    )
    assert_type(
        await ask.connect(account, fallback=0), Accepted[Token] | Declined | Cancelled | Fallback[int]
    )
    assert_type(await ask.page(page, fallback=0), Accepted[bytes] | Declined | Cancelled | Fallback[int])


async def every_case_is_told(zone: str) -> str:
    match await ask.text("Which zone?", fallback=zone):
        case Accepted(text) | Fallback(text):
            return text
        case Declined() | Cancelled():
            return "none"
