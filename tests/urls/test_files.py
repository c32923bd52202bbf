"""File URIs are read and written in one way only."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.errors import SetupError, WireError
from handraise.urls import dump_file_uri, parse_file_uri

segments = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12
)
paths = st.lists(segments.filter(lambda part: part not in (".", "..")), max_size=6)


@pytest.mark.shows("B5")
@given(paths)
def test_a_path_comes_back_as_it_was(parts: list[str]) -> None:
    path = PurePosixPath("/", *parts)
    uri = dump_file_uri(path)
    assert parse_file_uri(uri) == path
    assert re.fullmatch(r"file:///[!-~]*", uri)


@pytest.mark.shows("B5")
@given(st.text(max_size=40).map("file:///".__add__) | st.text(max_size=40))
def test_whatever_is_read_is_an_absolute_path_without_a_way_out(uri: str) -> None:
    try:
        path = parse_file_uri(uri)
    except WireError:
        return
    assert path.is_absolute()
    assert ".." not in path.parts
    assert parse_file_uri(dump_file_uri(path)) == path


@pytest.mark.shows("B5")
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///home/ada/Notes", "/home/ada/Notes"),
        ("file:///home/ada/Notes/", "/home/ada/Notes"),
        ("file://localhost/home/ada", "/home/ada"),
        ("FILE:///home/ada", "/home/ada"),
        ("file:///", "/"),
        ("file:///a%20b/%C3%BC/%25", "/a b/ü/%"),
        ("file:///a/..b/...", "/a/..b/..."),
        ("file:///a/%5C", "/a/\\"),
        ("file:///a%252fb", "/a%2fb"),
    ],
)
def test_a_plain_file_uri_is_its_path(uri: str, path: str) -> None:
    assert parse_file_uri(uri) == PurePosixPath(path)


@pytest.mark.shows("B5")
@pytest.mark.parametrize(
    "uri",
    [
        "",
        "/home/ada",
        "file:/home/ada",
        "file:home",
        "file://",
        "file://server/share",
        "file://localhost:80/x",
        "file://ada@localhost/x",
        "https:///home/ada",
        "file:///home/../etc",
        "file:///home/%2e%2e/etc",
        "file:///home/.%2E/etc",
        "file:///home/./ada",
        "file:///home/..",
        "file:////server/share",
        "file:///home//ada",
        "file:///home/a%2fb",
        "file:///home/a%2Fb",
        "file:///home/a%00b",
        "file:///home/a%",
        "file:///home/a%4",
        "file:///home/a%zz",
        "file:///home/%ff",
        "file:///home/%c0%ae%c0%ae/etc",
        "file:///home/%ed%a0%80",
        "file:///home/ada?x=1",
        "file:///home/ada#x",
        "file:///home/a b",
        "file:///home/ü",
        "file:///home\\ada",
        "file:///home/ada\n",
        " file:///home/ada",
        "file:///" + "a" * 5000,
        "file:///" + "%61" * 5000,
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(uri: str) -> None:
    with pytest.raises(WireError, match="not a file URI"):
        parse_file_uri(uri)


@pytest.mark.shows("B5")
@pytest.mark.parametrize("path", ["notes", "", "/a/../b", "//server/x", "/a\0b", "/\udcff", "/" + "a" * 5000])
def test_a_path_that_has_no_plain_uri_is_refused_too(path: str) -> None:
    with pytest.raises(SetupError, match="cannot be given to a server"):
        dump_file_uri(PurePosixPath(path))
