"""What a person is told will happen when a question comes."""

from __future__ import annotations

import pytest

from handraise.gateway.clients.forecast import forecast
from handraise.gateway.clients.table import CLIENTS
from handraise.gateway.options import Options

ABLE, FORMS, UNABLE = CLIENTS["vscode"], CLIENTS["cursor"], CLIENTS["zed"]
HELD = "the call is held for 45 seconds, then parked; you answer at your desk (`handraise inbox` opens it)."
LOST = "the server is told that nobody can be asked."
GATEWAY = Options()


def test_a_client_that_can_ask_does_so_itself() -> None:
    assert forecast(ABLE, None) == forecast(ABLE, GATEWAY) == "VS Code asks you in its own dialog."


def test_what_a_client_cannot_ask_comes_to_the_desk_or_is_lost() -> None:
    assert forecast(FORMS, GATEWAY) == f"Cursor asks you forms in its own dialog; for links {HELD}"
    assert forecast(UNABLE, GATEWAY) == f"Zed cannot ask you: {HELD}"
    assert forecast(UNABLE, None) == f"Zed cannot ask you: {LOST} Put the gateway in front of it."
    assert forecast(UNABLE, Options(desk="none")) == f"Zed cannot ask you: {LOST}"


def test_a_rule_for_the_desk_comes_before_what_a_client_can_do() -> None:
    told = forecast(ABLE, Options(desk="always", browser=True))
    assert told.startswith("You are asked at your desk, also where VS Code could ask")
    assert "your browser opens it" in told


def test_a_server_of_the_first_revision_has_no_links_to_ask() -> None:
    told = forecast(FORMS, GATEWAY, ["2025-06-18"])
    assert told == "Cursor asks you in its own dialog; the server knows forms only."
    assert forecast(UNABLE, GATEWAY, ["2025-06-18"]) == f"Zed cannot ask you: {HELD}"


@pytest.mark.parametrize("options", [None, GATEWAY], ids=["alone", "through-the-gateway"])
def test_a_server_of_one_era_needs_the_gateway_for_clients_of_the_other(options: Options | None) -> None:
    needs = "cannot use this server without the gateway in front."
    assert forecast(ABLE, options, ["2026-07-28"]).endswith(needs) == (options is None)
    assert not forecast(ABLE, options, ["2026-07-28", "2025-11-25"]).endswith(needs)
