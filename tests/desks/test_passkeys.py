"""Passkeys: what is registered, and everything that a forged or stolen response can be."""

from __future__ import annotations

import json
import os
import stat
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.desks.authenticator import Authenticator
from tests.desks.questions import ADA, form_question

from handraise.desks import Decision
from handraise.desks.passkeys import CHALLENGE_LIFE, PasskeyFile, Passkeys, Use, owner_of
from handraise.desks.waiting import PasskeyProof, answer_digest, lacks_passkey
from handraise.errors import PasskeyRefused, SetupError
from handraise.questions import Accepted, Person

BOB = Person("", "bob", "system")
YES: dict[str, Any] = {"answer": True}
ADD = Use("add", "browser", ADA, name="laptop")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Site:
    """One site, with one passkey of Ada's."""

    def __init__(self, folder: Path, rp_id: str = "localhost", origin: str = "http://localhost:7070") -> None:
        self.clock = Clock()
        self.file = PasskeyFile(folder / "passkeys.json")
        self.passkeys = Passkeys(self.file, rp_id=rp_id, origin=lambda: origin, clock=self.clock)
        self.device = Authenticator(rp_id, origin)

    def register(self, use: Use = ADD, device: Authenticator | None = None) -> None:
        made = (device or self.device).create(self.passkeys.begin_registration(use))
        self.passkeys.finish_registration(made, use)

    def answer(self, question: str = "q", content: Any = None) -> Use:
        answers = ((question, answer_digest(YES if content is None else content)),)
        return Use("answer", "browser", ADA, answers=answers)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.register()
    return made


@pytest.mark.shows("W9b")
def test_a_passkey_answers_for_its_person_and_for_exactly_that_answer(site: Site) -> None:
    waiting = form_question(id="q", passkey=True)
    use = site.answer()
    proof = site.passkeys.finish_assertion(site.device.get(site.passkeys.begin_assertion(use)), use)
    assert (proof.person, proof.name) == (ADA.key, "laptop")
    decision: Decision = Decision(Accepted(YES), passkey=proof)
    assert not lacks_passkey(waiting, decision)
    assert lacks_passkey(waiting, replace(decision, answer=Accepted({"answer": False})))
    assert lacks_passkey(replace(waiting, id="other"), decision)
    assert lacks_passkey(replace(waiting, person=BOB), decision)
    assert lacks_passkey(waiting, replace(decision, passkey=None))


def test_passkeys_are_kept_in_a_file_that_only_their_user_can_read(site: Site) -> None:
    assert stat.S_IMODE(site.file.path.stat().st_mode) == 0o600
    (kept,) = json.loads(site.file.path.read_text())["passkeys"]
    assert (kept["name"], kept["rp_id"], kept["owner"]) == ("laptop", "localhost", "system:ada")
    site.file.path.chmod(0o644)
    with pytest.raises(SetupError, match="chmod 600"):
        site.passkeys.of(ADA)
    site.file.path.chmod(0o600)
    site.file.path.write_text("{}")
    with pytest.raises(SetupError, match="mend or remove"):
        site.passkeys.of(ADA)


def test_this_computer_may_change_its_name() -> None:
    assert owner_of(Person("old-name", "1000", "system")) == owner_of(Person("new-name", "1000", "system"))
    assert owner_of(Person("https://a", "1", "token")) != owner_of(Person("https://b", "1", "token"))


@pytest.mark.shows("W9b")
@pytest.mark.parametrize(
    ("lie", "why"),
    [
        ({"origin": "http://localhost:7071"}, "origin"),
        ({"origin": "https://evil.example"}, "origin"),
        ({"rp_id": "evil.example"}, "RP ID"),
        ({"verifies": False}, "verif"),
        ({"count": -1, "counts": True}, "sign count"),
    ],
)
def test_a_response_from_elsewhere_unverified_or_of_a_copy_is_refused(
    site: Site, lie: dict[str, Any], why: str
) -> None:
    use = site.answer()
    site.passkeys.finish_assertion(site.device.get(site.passkeys.begin_assertion(use)), use)
    for name, value in lie.items():
        setattr(site.device, name, value)
    with pytest.raises(PasskeyRefused, match=why):
        site.passkeys.finish_assertion(site.device.get(site.passkeys.begin_assertion(use)), use)


@pytest.mark.shows("W9b")
def test_a_response_works_once(site: Site) -> None:
    use = site.answer()
    response = site.device.get(site.passkeys.begin_assertion(use))
    site.passkeys.finish_assertion(response, use)
    with pytest.raises(PasskeyRefused, match="used already"):
        site.passkeys.finish_assertion(response, use)


@pytest.mark.shows("W9b")
def test_a_response_that_was_refused_does_not_work_later(site: Site) -> None:
    use = site.answer()
    response = site.device.get(site.passkeys.begin_assertion(use))
    with pytest.raises(PasskeyRefused, match="something else"):
        site.passkeys.finish_assertion(response, replace(use, session="another browser"))
    with pytest.raises(PasskeyRefused, match="used already"):
        site.passkeys.finish_assertion(response, use)


@pytest.mark.shows("W9b")
@pytest.mark.parametrize(
    "other",
    [
        {"answers": (("other", answer_digest(YES)),)},
        {"answers": (("q", answer_digest({"answer": False})),)},
        {"session": "another browser"},
        {"purpose": "add"},
        {"person": BOB},
        {"name": "laptop"},
    ],
)
def test_a_response_for_one_thing_is_good_for_no_other(site: Site, other: dict[str, Any]) -> None:
    use = site.answer()
    response = site.device.get(site.passkeys.begin_assertion(use))
    with pytest.raises(PasskeyRefused, match="something else"):
        site.passkeys.finish_assertion(response, replace(use, **other))


@pytest.mark.shows("W9b")
def test_a_challenge_lasts_two_minutes(site: Site) -> None:
    use = site.answer()
    response = site.device.get(site.passkeys.begin_assertion(use))
    site.clock.now += CHALLENGE_LIFE
    with pytest.raises(PasskeyRefused, match="older than two minutes"):
        site.passkeys.finish_assertion(response, use)


@pytest.mark.shows("W9b")
def test_the_passkey_of_another_person_is_refused(site: Site) -> None:
    theirs = Authenticator()
    site.register(Use("add", "browser", BOB, name="phone"), theirs)
    use = site.answer()
    with pytest.raises(PasskeyRefused, match="not one of this person's"):
        site.passkeys.finish_assertion(theirs.get(site.passkeys.begin_assertion(use)), use)
    stranger = Authenticator(id=b"a stranger's key")
    with pytest.raises(PasskeyRefused, match="not one of this person's"):
        site.passkeys.finish_assertion(stranger.get(site.passkeys.begin_assertion(use)), use)


@pytest.mark.shows("W9b")
def test_a_signature_by_another_key_is_refused(site: Site) -> None:
    forged = Authenticator(id=site.device.id)
    use = site.answer()
    with pytest.raises(PasskeyRefused, match="signature"):
        site.passkeys.finish_assertion(forged.get(site.passkeys.begin_assertion(use)), use)


@pytest.mark.shows("W9b")
def test_what_a_site_signed_for_another_host_is_refused_here(site: Site, tmp_path: Path) -> None:
    other = Site(tmp_path, "gate.example.com", "https://gate.example.com")
    other.register(device=other.device)
    assert [each.rp_id for each in site.passkeys.of(ADA)] == ["localhost"]
    use = site.answer()
    with pytest.raises(PasskeyRefused):
        site.passkeys.finish_assertion(other.device.get(site.passkeys.begin_assertion(use)), use)


@pytest.mark.shows("W9b")
def test_what_was_signed_to_register_does_not_answer_and_the_other_way_round(site: Site) -> None:
    use = site.answer()
    created = site.device.get(site.passkeys.begin_assertion(use), kind="webauthn.create")
    with pytest.raises(PasskeyRefused, match="type"):
        site.passkeys.finish_assertion(created, use)
    with pytest.raises(PasskeyRefused):
        site.passkeys.finish_registration(site.device.get(site.passkeys.begin_registration(ADD)), ADD)


@pytest.mark.shows("W9b")
def test_a_passkey_without_verification_is_not_registered_nor_one_twice(site: Site) -> None:
    weak = Authenticator(verifies=False)
    with pytest.raises(PasskeyRefused, match="verif"):
        site.register(device=weak)
    with pytest.raises(PasskeyRefused, match="registered already"):
        site.register()
    assert len(site.passkeys.of(ADA)) == 1


@pytest.mark.shows("W9b")
@pytest.mark.parametrize(
    "response", ["", "{}", "[]", "null", '{"response": {"clientDataJSON": "e30"}}', "x" * 100_000, "\udc80"]
)
def test_what_no_browser_sends_is_refused(site: Site, response: str) -> None:
    with pytest.raises(PasskeyRefused):
        site.passkeys.finish_assertion(response, site.answer())
    with pytest.raises(PasskeyRefused):
        site.passkeys.finish_registration(response, ADD)


def test_a_device_that_does_not_count_is_taken(site: Site) -> None:
    """Passkeys that are synchronised between devices always say zero."""
    site.device.counts = False
    use = site.answer()
    for _ in range(2):
        site.passkeys.finish_assertion(site.device.get(site.passkeys.begin_assertion(use)), use)


@pytest.mark.shows("W9b")
def test_of_two_uses_with_one_count_only_one_passes(site: Site) -> None:
    """Two processes share the file: a copy of the passkey must not pass in one while it is used in the other."""
    use = site.answer()
    passed: list[PasskeyProof | None] = []
    other = Passkeys(site.file, rp_id="localhost", origin=lambda: "http://localhost:7070")
    copy = replace(site.device)
    responses = [
        (each, device.get(each.begin_assertion(use)))
        for each, device in ((site.passkeys, site.device), (other, copy))
    ]

    def finish(passkeys: Passkeys, response: str) -> None:
        try:
            passed.append(passkeys.finish_assertion(response, use))
        except PasskeyRefused:
            passed.append(None)

    threads = [threading.Thread(target=finish, args=each) for each in responses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(each is None for each in passed) == [False, True]


def test_names_are_free_and_a_removed_passkey_works_no_more(site: Site) -> None:
    assert site.passkeys.free_name(ADA) == "passkey"
    assert site.passkeys.free_name(ADA, "laptop") == "laptop-2"
    site.passkeys.remove(ADA, "laptop")
    use = site.answer()
    with pytest.raises(PasskeyRefused):
        site.passkeys.finish_assertion(site.device.get(site.passkeys.begin_assertion(use)), use)
    assert site.passkeys.of(ADA) == ()


def test_where_nothing_can_be_kept_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    made = Site(tmp_path / "file")
    with pytest.raises(SetupError, match="Not a directory"):
        made.register()
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.shows("W9b")
def test_a_browser_that_asks_for_many_challenges_takes_nobody_elses(site: Site) -> None:
    use = site.answer()
    signed = site.device.get(site.passkeys.begin_assertion(use))
    flood = Use("answer", "another browser", BOB, answers=use.answers)
    options = [site.passkeys.begin_assertion(flood) for _ in range(1_000)]
    assert site.passkeys.finish_assertion(signed, use).name == "laptop"
    with pytest.raises(PasskeyRefused, match="unknown"):
        site.passkeys.finish_assertion(site.device.get(options[0]), flood)
