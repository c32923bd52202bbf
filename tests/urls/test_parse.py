"""A link means to us what it means to a browser."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.urls.labelled import DATA, read_all

from handraise.urls import inspect_url
from handraise.urls.parse import parse_href, parse_url, read_written

CASES: list[tuple[str, str | None]] = json.loads((DATA / "whatwg.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.shows("L12")
def test_what_we_show_and_open_is_what_a_browser_makes_of_the_text() -> None:
    assert len(CASES) >= 400
    assert [(ascii(text), href) for text, href in CASES if inspect_url(text).href != href] == []


@pytest.mark.shows("L12")
@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://evil.example\\@github.com/", "evil.example"),
        ("https://github.com@evil.example/", "evil.example"),
        ("https://github.com#@evil.example/", "github.com"),
        ("https:////evil.example/", "evil.example"),
        ("https://git%68ub.com/", "github.com"),
        ("https://github。com/", "github.com"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("https://user@[::1]:8080/", "[::1]"),
    ],
)
def test_the_host_is_the_one_a_browser_goes_to(url: str, host: str) -> None:
    assert inspect_url(url).host == host


def test_the_written_host_is_kept_beside_the_one_that_is_meant() -> None:
    assert read_written("HTTPS://a@B:1@GitHub。com:443/x").host == "GitHub。com"
    assert read_written("https://[::1]:8080/").host == "[::1]"
    assert read_written("no link").host == ""


def test_a_lone_surrogate_is_replaced_as_in_every_browser() -> None:
    assert parse_href("https://example.com/\ud800") == "https://example.com/%EF%BF%BD"


@given(st.sampled_from([text for text, href in CASES if href is not None]))
def test_the_parts_of_a_link_are_the_whole_link(text: str) -> None:
    link = parse_url(read_written(text))
    assert link is not None
    assert link.href == "".join(link.parts)


@pytest.mark.shows("L5")
def test_the_domain_is_one_piece_and_the_subdomain_another() -> None:
    inspection = inspect_url("https://user:pass@accounts.google.com.evil.co.uk:8443/a/b?c=d#e")
    assert inspection.pieces == (
        ("scheme", "https://"),
        ("userinfo", "user:pass@"),
        ("subdomain", "accounts.google.com."),
        ("domain", "evil.co.uk"),
        ("port", ":8443"),
        ("path", "/a/b"),
        ("query", "?c=d"),
        ("fragment", "#e"),
    )


def test_a_dot_at_the_end_belongs_to_the_domain() -> None:
    pieces = inspect_url("https://login.example.com./").pieces
    assert pieces[1:3] == (("subdomain", "login."), ("domain", "example.com."))


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "github.io"])
def test_a_host_without_a_registrable_domain_is_emphasised_whole(host: str) -> None:
    assert ("domain", host) in inspect_url(f"https://{host}/").pieces


@pytest.mark.shows("L5")
def test_the_pieces_joined_are_the_link() -> None:
    for link in read_all():
        inspection = link.inspect()
        assert "".join(piece.text for piece in inspection.pieces) == (inspection.href or "")
        assert sum(piece.kind == "domain" for piece in inspection.pieces) == bool(inspection.host)
