"""Well-known names are known, and what imitates them is found."""

from __future__ import annotations

import pytest

from handraise.urls import inspect_url
from handraise.urls.imitation import brand_list

BRANDS = brand_list()
NAMES = sorted(BRANDS.endings)


def own_domain(name: str) -> str | None:
    return next((domain for domain in BRANDS.domains if domain.partition(".")[0] == name), None)


def test_there_are_many_names_on_the_list() -> None:
    assert len(NAMES) >= 100
    assert len(BRANDS.domains) >= 200


def test_no_link_to_a_well_known_domain_is_called_an_imitation() -> None:
    for domain in BRANDS.domains:
        assert inspect_url(f"https://{domain}/").verdict == "ok"


@pytest.mark.shows("L12")
def test_a_well_known_domain_in_front_of_another_is_a_danger() -> None:
    for domain in filter(None, map(own_domain, NAMES)):
        if domain.count(".") == 1:
            assert "brand_in_subdomain" in inspect_url(f"https://login.{domain}.evil.example/").reasons


@pytest.mark.parametrize("server", ["mcp.acme.example", "mcp.acme-tools.example", "mcp.acme.co.uk"])
def test_the_servers_own_domain_may_not_be_imitated_either(server: str) -> None:
    inside = inspect_url(f"https://{server}.evil.example/", server_host=server)
    assert inside.reasons == ("brand_in_subdomain",)
    assert inspect_url(f"https://{server}/", server_host=server).verdict == "ok"


@pytest.mark.parametrize("spoil", ["{}-login", "login-{}", "{}login", "secure-{}-verify"])
def test_a_well_known_name_with_a_lure_is_warned_of(spoil: str) -> None:
    for name in NAMES:
        assert "brand_combosquat" in inspect_url(f"https://{spoil.format(name)}.example/").reasons


def test_a_slip_of_the_finger_is_warned_of() -> None:
    missed = []
    for name in NAMES:
        domain = own_domain(name)
        if domain is None or len(name) < 5:
            continue
        ending = domain.partition(".")[2]
        swapped = f"{name[:2]}{name[3]}{name[2]}{name[4:]}"
        for slip in (f"{name[:2]}{name[3:]}", f"{name[:3]}x{name[3:]}", f"{name[:3]}x{name[4:]}", swapped):
            inspection = inspect_url(f"https://{slip}.{ending}/")
            if slip != name and inspection.verdict == "ok":
                missed.append((slip, inspection.reasons))
    assert len(missed) <= 3, missed  # what is left are honest words, and names of others


def test_honest_words_are_left_alone() -> None:
    for host in (
        "motion.example",
        "strike.example",
        "sigma.se",
        "apple-pie.example",
        "cloud.example",
        "slackline.org",
    ):
        assert inspect_url(f"https://{host}/").reasons == ()
