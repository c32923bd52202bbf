"""What a page about passkeys posts: the desk wants the proof where one is needed, and nothing where none is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.desks.authenticator import Authenticator
from tests.desks.web import samples
from tests.desks.web.samples import guard
from tests.desks.web.visitor import Visitor, open_office

from handraise.desks.gate import PolicyGate
from handraise.desks.passkeys import PasskeyFile, Passkeys, Use
from handraise.desks.web.sessions import PasskeyTask
from handraise.policy import Policy, Settings
from handraise.policy.settings import DeskSettings
from handraise.questions import Accepted

SETTINGS = Settings(desk=DeskSettings(passkey=("guards", "typed")))


@pytest.fixture
def kept(tmp_path: Path) -> PasskeyFile:
    return PasskeyFile(tmp_path / "passkeys.json")


@pytest.mark.shows("W9b")
async def test_no_post_of_a_page_accepts_without_a_passkey(kept: PasskeyFile) -> None:
    """Whatever a program posts that got into the desk: the queue wants the proof."""
    site, device = Passkeys(kept, rp_id="localhost", origin=lambda: "http://localhost:7070"), Authenticator()
    adding = Use("add", "here", samples.PERSON, name="laptop")
    site.finish_registration(device.create(site.begin_registration(adding)), adding)
    async with open_office(PolicyGate(Policy(SETTINGS)), passkeys=kept) as office:
        visitor = office.visitor
        (path,) = await office.put(guard())
        page = (await visitor.get(path)).text
        assert "<noscript>" in page
        assert "JavaScript" in page
        office.wait()
        for posted in ({"do": "yes"}, {"do": "accept"}, {"do": "send"}, {"do": "yes", "passkey": "{}"}):
            assert (await visitor.post(path, posted)).status_code in (303, 422)
            office.wait()
            assert len(office.queue.waiting()) == 1
        options = (await visitor.post(f"{path}/passkey", {"do": "yes"})).text
        await visitor.get(path)
        office.wait()
        signed = {"do": "yes", "passkey": device.get(options)}
        other = (await office.put(guard("other")))[1]
        await visitor.get(other)
        office.wait()
        assert (await visitor.post(other, signed)).status_code == 422  # for another question
        assert len(office.queue.waiting()) == 2
        assert (await visitor.post(path, signed)).status_code == 422  # and it is used up now
        again = {
            "do": "yes",
            "passkey": device.get((await visitor.post(f"{path}/passkey", {"do": "yes"})).text),
        }
        office.wait()
        assert (await visitor.post(path, again)).status_code == 303
        assert (await office.decided()).answer == Accepted({"answer": True})


async def test_a_page_gets_nothing_to_sign_where_no_passkey_is_needed_or_there(kept: PasskeyFile) -> None:
    """Then it posts without one."""
    async with open_office(PolicyGate(Policy(SETTINGS)), passkeys=kept) as office:
        _, free = await office.put(guard(), samples.short())
        of_guard = next(path for path in await office.visitor.paths() if path != free)
        for path, decided in ((of_guard, "no"), (of_guard, "yes"), (free, "decline")):
            await office.visitor.get(path)
            office.wait()
            asked = await office.visitor.post(f"{path}/passkey", {"do": decided})
            assert (asked.status_code, asked.content) == (409, b"")


async def test_a_browser_changes_the_passkeys_of_the_person_whom_its_link_is_for(kept: PasskeyFile) -> None:
    async with open_office(PolicyGate(Policy(SETTINGS)), passkeys=kept) as office:
        for way, place in (("get", ""), ("post", ""), ("post", "/options")):
            told = await getattr(office.visitor, way)(f"{office.visitor.place}passkey{place}")
            assert told.status_code == 403
            assert "This link does not let you change passkeys." in told.text
        link = office.desk.sign_in_url(samples.PERSON, PasskeyTask("add", "laptop"))
        invited = await Visitor(office.desk).sign_in(link)
        assert (await invited.get(f"{invited.place}passkey")).status_code == 200
