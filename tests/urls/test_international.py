"""International names are judged by their letters, however they are encoded."""

from __future__ import annotations

import pytest
from tests.urls.labelled import DATA

from handraise.urls import inspect_url


def read_hosts(name: str) -> list[str]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [host for line in lines if not line.startswith("#") for host in line.split()]


@pytest.mark.shows("L12", "L5")
@pytest.mark.parametrize("host", read_hosts("lookalikes.txt"))
def test_a_lookalike_is_a_danger_in_both_encodings(host: str) -> None:
    inspection = inspect_url(f"https://{host}/")
    assert inspection.verdict == "danger"
    assert inspection.host is not None
    assert inspection.host.isascii()
    assert inspect_url(f"https://{inspection.host}/").verdict == "danger"


@pytest.mark.parametrize("host", read_hosts("honest.txt"))
def test_an_honest_name_is_no_danger_and_only_its_encoded_form_is_warned_of(host: str) -> None:
    inspection = inspect_url(f"https://{host}/")
    assert inspection.reasons == ("idn_label",)
    assert inspect_url(f"https://{inspection.host}/").reasons == ("punycode",)


def test_a_script_is_no_disguise_where_it_is_at_home() -> None:
    assert inspect_url("https://рор.com/").reasons == ("whole_script_confusable",)
    assert inspect_url("https://рор.ru/").verdict == "ok"
    assert inspect_url("https://рор.рф/").verdict == "ok"


def test_characters_that_older_software_reads_differently_are_warned_of() -> None:
    assert inspect_url("https://faß.de/").reasons == ("deviation_char",)
    assert inspect_url("https://i❤.ws/").reasons == ("symbol_in_name",)
