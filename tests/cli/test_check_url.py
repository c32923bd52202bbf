"""`handraise check url` says what a link is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.urls.labelled import read_all
from typer.testing import CliRunner, Result

from handraise.cli.app import app


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["check", "url", *arguments], input=given)


def told(result: Result) -> Any:
    return json.loads(result.stdout)


@pytest.mark.shows("L12")
def test_a_link_as_an_argument_is_judged_and_a_danger_is_exit_status_one() -> None:
    result = run("https://evil.example\\@github.com/login", "--json")
    assert result.exit_code == 1
    report = told(result)
    assert set(report) == {"verdict", "reasons", "href", "registrable_domain", "host"}
    assert report["verdict"] == "danger"
    assert "backslash" in report["reasons"]
    assert report["href"] == "https://evil.example/@github.com/login"
    assert (report["registrable_domain"], report["host"]) == ("evil.example", "evil.example")


def test_a_link_that_cannot_be_read_has_no_href() -> None:
    assert told(run("https://a b.example/", "--json")) == {
        "verdict": "danger",
        "reasons": ["parse_failure"],
        "href": None,
        "registrable_domain": None,
        "host": None,
    }


@pytest.mark.parametrize(
    ("options", "status"),
    [([], 1), (["--transport", "stdio"], 0), (["--server-host", "localhost:8000"], 0)],
)
def test_where_the_server_is_can_be_said(options: list[str], status: int) -> None:
    assert run("http://127.0.0.1:8765/", *options).exit_code == status


@pytest.mark.parametrize("how", ["argument", "file", "stdin", "dash"])
def test_json_may_come_as_argument_file_or_standard_input(how: str, tmp_path: Path) -> None:
    text = json.dumps(
        {"url": "http://localhost:3000/", "context": {"transport": "stdio", "server_host": None}}
    )
    (tmp_path / "link.json").write_text(text)
    arguments = {"argument": [text], "file": [str(tmp_path / "link.json")], "stdin": [], "dash": ["-"]}[how]
    result = run("--json", *arguments, given=text)
    assert result.exit_code == 0
    assert told(result)["reasons"] == ["loopback"]


@pytest.mark.shows("L5")
def test_the_text_shows_the_whole_link_the_site_and_why() -> None:
    result = run("https://bücher.example/" + "a" * 3000)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == ["warn", "  https://xn--bcher-kva.example/" + "a" * 3000]
    assert "  site: xn--bcher-kva.example" in result.stdout
    assert "  reads as: bücher.example" in result.stdout
    assert "The address is very long. (long_url)" in result.stdout


@pytest.mark.shows("D7")
def test_nothing_of_the_link_reaches_the_terminal_raw() -> None:
    output = run("javascript:\x1b[31m\u202e\x07").stdout
    assert output.isascii()
    assert "\x1b" not in output


@pytest.mark.parametrize(
    "arguments",
    [
        ["--json", "--jsonl"],
        ["no-such-file.json"],
        ["{}"],
        ['{"url": 1}'],
        ["{"],
        ["[]"],
        ['{"url": "https://example.com/", "context": {"transport": "pigeon"}}'],
        ['{"url": "https://example.com/", "context": {"transport": "http", "server_host": 5}}'],
        ["https://example.com/", "--transport", "pigeon"],
        ["notaurl"],
    ],
)
def test_wrong_use_is_exit_status_two(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


@pytest.mark.slow
def test_three_hundred_links_are_judged_in_order_and_well_under_two_seconds() -> None:
    links = read_all()[:300]
    lines = "".join(json.dumps({"url": link.url, "context": link.context}) + "\n" for link in links)
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-c", "import handraise.cli as cli; cli.main()", "check", "url", "--jsonl"],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
    )
    after = os.times()
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [report["href"] for report in reports] == [link.inspect().href for link in links]
    assert all(report["verdict"] in link.acceptable for report, link in zip(reports, links, strict=True))
    took = after.children_user - before.children_user + after.children_system - before.children_system
    assert took < 2


def test_all_fine_is_exit_status_zero() -> None:
    lines = '{"url": "https://example.com/"}\n{"url": "http://example.com/"}\n'
    result = run("--jsonl", given=lines)
    assert [json.loads(line)["verdict"] for line in result.stdout.splitlines()] == ["ok", "warn"]
    assert result.exit_code == 0
