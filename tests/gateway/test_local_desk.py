"""How a person hears that something waits: as their own rules say."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.gateway.sides import link_in, make_home

from handraise.access import AccessCheck
from handraise.desks import Queue
from handraise.desks.codes import DeskCodeCheck
from handraise.desks.gate import PolicyGate
from handraise.errors import WireError
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.local_desk import LocalDesk, open_asking
from handraise.gateway.options import Options
from handraise.policy import Policy, Settings
from handraise.revisions import Revision

pytestmark = pytest.mark.anyio


@pytest.fixture
async def reception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Callable[[Options], LocalDesk]]:
    """Opens a reception on a machine with a screen; what its browser and its notices are told is written down."""
    for name, value in make_home(tmp_path).items():
        monkeypatch.setenv(name, value)
    for name in ("SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    gate = PolicyGate(Policy(Settings()))
    asking = QuestionHandler(Queue(), gate, timeout=30)
    yield lambda options: LocalDesk(asking, gate, options, AccessCheck(), DeskCodeCheck())
    await asking.aclose()


async def test_the_browser_opens_once_and_only_by_rule(
    reception: Callable[[Options], LocalDesk], tmp_path: Path
) -> None:
    await reception(Options()).call_person("notes")
    assert not (tmp_path / "opened").exists()
    willing = reception(Options(browser=True))
    await willing.call_person("notes")
    assert "/sign-in/" in link_in(tmp_path)
    (tmp_path / "opened").unlink()
    await willing.call_person("notes")
    assert not (tmp_path / "opened").exists()


async def test_a_notice_names_the_server_and_can_be_switched_off(
    reception: Callable[[Options], LocalDesk], tmp_path: Path
) -> None:
    await reception(Options(notify=False)).call_person("notes")
    assert not (tmp_path / "notices").exists()
    await reception(Options()).call_person("notes")
    assert (tmp_path / "notices").read_text() == "You are asked by notes. Open the desk with: handraise inbox"


async def test_parked_calls_are_kept_in_the_store_that_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in make_home(tmp_path).items():
        monkeypatch.setenv(name, value)
    asking = await open_asking(Options(store=str(tmp_path / "chosen.db")), AccessCheck(), DeskCodeCheck())
    assert asking.tickets is not None
    assert await asking.tickets.find("no such ticket", "nobody") is None
    await asking.aclose()
    assert (tmp_path / "chosen.db").exists()
    assert not (tmp_path / "data/handraise/gateway.db").exists()


@pytest.mark.shows("D2f")
async def test_questions_are_read_within_the_limits_that_the_user_has_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in make_home(tmp_path).items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "handraise.toml"
    file.write_text("[forms]\nfields = 60\nmessage_bytes = 100_000\noptions = 5_000\n")
    monkeypatch.setenv("HANDRAISE_CONFIG", str(file))
    asking = await open_asking(Options(), AccessCheck(), DeskCodeCheck())

    def asked(fields: int, message: int = 1) -> dict[str, object]:
        schema = {"type": "object", "properties": {f"f{at}": {"type": "string"} for at in range(fields)}}
        return {"mode": "form", "message": "x" * message, "requestedSchema": schema}

    try:
        assert asking.parse(asked(60, 100_000), Revision.NOVEMBER_2025)[0].mode == "form"
        for too_large, rule in ((asked(61), "fields"), (asked(1, 100_001), "message")):
            with pytest.raises(WireError) as refused:
                asking.parse(too_large, Revision.NOVEMBER_2025)
            assert refused.value.rule == rule
    finally:
        await asking.aclose()
