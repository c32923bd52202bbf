"""The registrable domain is what somebody registered."""

from __future__ import annotations

import pytest

from handraise.urls.tables import is_shared, public_suffix, registrable_domain


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("octocat.github.io", "octocat.github.io"),
        ("a.b.myapp.vercel.app", "myapp.vercel.app"),
        ("www.city.kawasaki.jp", "city.kawasaki.jp"),
        ("x.evil.example", "evil.example"),
        ("xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("github.com.", "github.com"),
        ("co.uk", None),
        ("github.io", None),
        ("localhost", None),
        ("a..b", None),
    ],
)
def test_it_follows_the_public_suffix_list(host: str, domain: str | None) -> None:
    assert registrable_domain(host) == domain


def test_suffixes_that_a_company_opened_are_told_from_the_others() -> None:
    assert is_shared("github.io")
    assert is_shared("s3.amazonaws.com")
    assert not is_shared("com")
    assert not is_shared("co.uk")
    assert not is_shared("kawasaki.jp")
    assert public_suffix("example.co.uk") == "co.uk"
