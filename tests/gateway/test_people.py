"""The file of people: who is in it is known by a token, and a file that is not whole lets nobody in."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from handraise.errors import SetupError
from handraise.gateway.people import PeopleFile, person_named
from handraise.questions import Person

pytestmark = pytest.mark.shows("W7")

KEY = "0" * 64


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "people.json"


@pytest.fixture
def people(file: Path) -> PeopleFile:
    return PeopleFile(file)


def person_of(people: PeopleFile, token: str) -> Person | None:
    return asyncio.run(people.person(token))


def test_a_person_is_known_by_the_newest_token_and_by_none_after_being_removed(
    people: PeopleFile,
) -> None:
    old, bobs = people.add("ann"), people.add("bob")
    assert person_of(people, old) == person_named("ann")
    new = people.add("ann")
    assert [person_of(people, each) for each in (old, new, bobs)] == [
        None,
        person_named("ann"),
        person_named("bob"),
    ]
    people.remove("ann")
    assert person_of(people, new) is None
    assert (people.has("ann"), people.has("bob")) == (False, True)
    assert person_of(people, bobs) == person_named("bob"), "nobody else is touched"
    assert person_of(people, "") is None
    assert person_of(people, "\udcff") is None


def test_the_file_has_no_token_and_is_its_owners_alone(file: Path, people: PeopleFile) -> None:
    token = people.add("ann")
    assert token not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    before = people.key
    people.add("bob")
    assert people.key == before, "links that were given out stay good"
    assert len(before) == 32


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        json.dumps({"people": {}}),
        json.dumps({"key": KEY}),
        json.dumps({"key": KEY[1:], "people": {}}),
        json.dumps({"key": KEY + "0", "people": {}}),
        json.dumps({"key": "g" * 64, "people": {}}),
        json.dumps({"key": 7, "people": {}}),
        json.dumps({"key": KEY, "people": []}),
        json.dumps({"key": KEY, "people": {"ann": 7}}),
    ],
)
def test_what_is_no_file_of_people_is_refused_and_not_written_over(
    file: Path, people: PeopleFile, text: str
) -> None:
    file.write_text(text)
    file.chmod(0o600)
    for use in (lambda: people.add("ann"), lambda: people.has("ann"), lambda: people.key):
        with pytest.raises(SetupError, match="not a file of people"):
            use()
    with pytest.raises(SetupError, match="not a file of people"):
        person_of(people, "any")
    assert not people.has_person(person_named("ann"))
    assert file.read_text() == text


def test_a_file_that_others_can_read_is_refused(file: Path, people: PeopleFile) -> None:
    token = people.add("ann")
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(SetupError, match="chmod 600"):
            person_of(PeopleFile(file), token)


def test_without_the_file_nobody_is_known(file: Path, people: PeopleFile) -> None:
    with pytest.raises(SetupError, match="adding somebody makes it"):
        person_of(people, "any")
    assert not people.has_person(person_named("ann"))
    people.add("ann")
    assert people.has_person(person_named("ann"))
    file.unlink()
    assert not people.has_person(person_named("ann")), "not from memory, either"


def test_a_person_of_another_kind_with_the_same_name_is_somebody_else(people: PeopleFile) -> None:
    people.add("ann")
    assert people.has_person(person_named("ann"))
    assert not people.has_person(Person("https://id.example.com", "ann", "token"))
    assert not people.has_person(Person("", "ann", "system"))


@pytest.mark.parametrize("name", ["", "-ann", "an n", "ann/bob", "a" * 65, "änn", "ann\n"])
def test_a_name_that_could_be_taken_for_something_else_is_refused(
    people: PeopleFile, name: str, file: Path
) -> None:
    with pytest.raises(SetupError, match="a name has only"):
        people.add(name)
    assert not file.exists()


@pytest.mark.parametrize("name", ["a", "0", "Ann.B_c@d-e", "a" * 64])
def test_any_other_name_is_taken(people: PeopleFile, name: str) -> None:
    people.add(name)
    assert people.has(name)


@pytest.mark.parametrize("known", [(), ("bob", "ann")])
def test_nobody_is_told_from_those_who_are_there(people: PeopleFile, known: tuple[str, ...]) -> None:
    people.add("eve")
    for name in known:
        people.add(name)
    people.remove("eve")
    there = "there is ann, bob" if known else "there is nobody in it yet"
    for use in (people.require, people.remove):
        with pytest.raises(SetupError, match=f"nobody in it is called 'eve'; {there}"):
            use("eve")
    assert [people.has(each) for each in known] == [True] * len(known)
