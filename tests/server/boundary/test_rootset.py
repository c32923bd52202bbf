"""A path lies in a root by its whole names, or it is refused with an error that names the boundary."""

from __future__ import annotations

import os.path
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.errors import OutsideBoundary, sentence
from handraise.server.boundary.rootset import RootFolder, RootPath, RootSet, adopt_folders, adopt_uris
from handraise.urls import dump_file_uri

NOTES = RootFolder(("home", "ada", "Notes"), ("home", "ada", "Notes"))
WORK = RootFolder(("home", "ada", "work"), ("home", "ada", "work"))
ONE = RootSet((NOTES,))
TWO = RootSet((NOTES, WORK))


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a.md", ("a.md",)),
        ("2026/a.md", ("2026", "a.md")),
        ("./2026//a.md", ("2026", "a.md")),
        ("2026/", ("2026",)),
        (".", ()),
        ("/home/ada/Notes", ()),
        ("/home/ada/Notes/", ()),
        ("//home/ada/Notes/a.md", ("a.md",)),
        ("/home/ada/Notes/a.md", ("a.md",)),
        ("file:///home/ada/Notes/my%20day.md", ("my day.md",)),
        ("file:///home/ada/Notes/", ()),
        ("100%25.md", ("100%25.md",)),  # a path is not a URI: nothing in it is decoded
        ("%2e%2e/secret", ("%2e%2e", "secret")),
        ("..hidden", ("..hidden",)),
        ("back\\..\\slash", ("back\\..\\slash",)),
    ],
)
def test_a_path_inside_is_located(path: str, names: tuple[str, ...]) -> None:
    assert ONE.locate(path) == RootPath(NOTES, names)


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../Notes-evil/a.md",
        "2026/../../work/a.md",
        "2026/..",
        "/home/ada/Notes/../work/a.md",
        "/home/ada/Notes-evil/a.md",
        "/home/ada/Notesx",
        "/home/ada/Note",
        "/home/ada/notes/a.md",
        "/home/ada/NOTES/a.md",
        "/home/ada",
        "/",
        "/etc/passwd",
        "a.md\0.png",
        "\0",
        "",
        "\ud800",
        "file:///home/ada/Notes/%2e%2e/work/a.md",
        "file:///home/ada/Notes/..%2fwork",
        "file:///home/ada/Notes/a%00",
        "file:///home/ada/Notes-evil/a.md",
        "file://server/home/ada/Notes/a.md",
        "file:/home/ada/Notes/a.md",
        "file:a.md",
        "FILE:///etc/passwd",
        "file:///home/ada/Notes/a.md?x",
        "file:///home/ada/Notes/%zz",
        "file:///home/ada/Notes/%ff",
    ],
)
@pytest.mark.shows("B2", "B4", "B5")
def test_a_path_outside_or_in_doubt_is_refused_and_the_boundary_named(path: str) -> None:
    with pytest.raises(OutsideBoundary) as refused:
        ONE.locate(path)
    assert "the boundary (/home/ada/Notes)" in str(refused.value)
    assert "add the folder to their client's roots" in str(refused.value)
    assert refused.value.path == path
    assert OutsideBoundary.public != sentence(refused.value) == str(refused.value)


@pytest.mark.shows("B2")
def test_without_roots_nothing_is_allowed_and_the_error_says_how_to_get_one() -> None:
    for path in (".", "a.md", "/", "/home/ada/Notes/a.md", "file:///home"):
        with pytest.raises(OutsideBoundary, match=r"the boundary, which is empty.*no root is known.*roots"):
            RootSet().locate(path)


@pytest.mark.shows("B4")
def test_a_relative_path_is_not_guessed_among_several_roots() -> None:
    with pytest.raises(OutsideBoundary, match="several roots"):
        TWO.locate("a.md")
    assert TWO.locate("/home/ada/work/a.md") == RootPath(WORK, ("a.md",))


def test_of_nested_roots_the_inner_one_is_taken() -> None:
    inner = RootFolder((*NOTES.real, "2026"), (*NOTES.real, "2026"))
    assert RootSet((NOTES, inner)).locate("/home/ada/Notes/2026/a.md") == RootPath(inner, ("a.md",))


@pytest.mark.shows("B1")
def test_two_sets_together_are_their_intersection() -> None:
    inner = RootFolder((*NOTES.real, "2026"), (*NOTES.real, "2026"))
    alike = RootFolder(("home", "ada", "Notes-evil"), ("home", "ada", "Notes-evil"))
    assert (ONE & RootSet((inner,))).folders == (inner,)
    assert (RootSet((inner,)) & ONE).folders == (inner,)
    assert (ONE & ONE).folders == (NOTES,)
    assert (TWO & RootSet((inner, WORK))).folders == (inner, WORK)
    assert (ONE & RootSet((alike,))).folders == ()
    assert (ONE & RootSet()).folders == ()


@pytest.mark.shows("B3")
def test_a_place_is_covered_as_long_as_a_root_holds_it() -> None:
    place = TWO.locate("/home/ada/work/a.md")
    assert TWO.covers(place)
    assert RootSet((RootFolder(("home",), ("home",)),)).covers(place)
    assert not ONE.covers(place)
    assert not RootSet().covers(place)


def test_a_root_that_is_a_link_works_by_both_its_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    roots = adopt_folders([tmp_path / "link"])
    by_link, by_name = (roots.locate(tmp_path / name / "a.md") for name in ("link", "real"))
    assert by_link == by_name
    assert by_link.path == PurePosixPath(tmp_path / "link" / "a.md")


@pytest.mark.shows("B1", "B5")
def test_what_a_client_names_is_a_root_only_if_it_is_a_folder_here(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "über mich").mkdir()
    uris = [
        dump_file_uri(tmp_path / "über mich"),
        dump_file_uri(tmp_path / "file"),
        dump_file_uri(tmp_path / "gone"),
        "https://example.com/",
        f"file://{tmp_path}/x/../file",
        f"file://{tmp_path}/%2e%2e",
    ]
    roots = adopt_uris(uris)
    assert [str(root) for root in roots.folders] == [str(tmp_path / "über mich")]
    assert len(roots.unusable) == 5
    nothing = adopt_uris(uris[2:4])
    with pytest.raises(OutsideBoundary, match=r"no folder .*gone"):
        nothing.locate(".")


PIECES = st.sampled_from(
    [
        *("..", ".", "", "/", "//", "\\", "\0", "%2e%2e", "%2f", "%00", "~", " ", "..%2f", "․․", "．．"),
        *("home", "ada", "Notes", "Notes-evil", "notes", "a.md", "file:", "file://", "file:///", "localhost"),
    ]
)


@given(st.lists(PIECES, max_size=12).map("/".join) | st.lists(PIECES, max_size=12).map("".join) | st.text())
@pytest.mark.shows("B2", "B5")
def test_whatever_the_text_it_is_inside_or_refused(text: str) -> None:
    try:
        place = ONE.locate(text)
    except OutsideBoundary:
        return
    whole = "/" + "/".join((*place.root.real, *place.names))
    assert os.path.normpath(whole) == whole
    assert PurePosixPath(whole).is_relative_to("/home/ada/Notes")


@given(st.lists(st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1), min_size=1))
@pytest.mark.shows("B5")
def test_a_uri_and_its_path_are_the_same_place(names: list[str]) -> None:
    path = PurePosixPath("/home/ada/Notes", *names)
    if ".." in names or "." in names:
        return
    assert ONE.locate(dump_file_uri(path)) == ONE.locate(path) == RootPath(NOTES, tuple(names))
