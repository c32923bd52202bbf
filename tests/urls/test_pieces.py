"""A link can be shown whole, with its domain set apart."""

from __future__ import annotations

import pytest
from tests.urls.labelled import read_all

from handraise.urls import inspect_url


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
