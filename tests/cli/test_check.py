"""`handraise check form` and `handraise check answer` in anyone's CI."""

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
from handraise.cli.check import is_refused, judge_answer, judge_question
from handraise.revisions import Revision

SIZE = {
    "type": "object",
    "properties": {"size": {"type": "string", "enum": ["s", "m"]}},
    "required": ["size"],
}
GOOD_FORM = json.dumps({"mode": "form", "message": "Which size?", "requestedSchema": SIZE})
BAD_FORM = json.dumps(
    {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}}
)
SECRET_FORM = json.dumps(
    {
        "message": "Sign in",
        "requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}},
    }
)
GOOD_ANSWER = json.dumps({"requestedSchema": SIZE, "content": {"size": "s"}})
BAD_ANSWER = json.dumps({"requestedSchema": SIZE, "content": {"size": "xl", "colour": "red"}})


def check(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["check", *arguments], input=given)


def told(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("how", ["argument", "file", "stdin", "dash"])
def test_the_input_is_an_argument_a_file_or_standard_input(how: str, tmp_path: Path) -> None:
    file = tmp_path / "question.json"
    file.write_text(GOOD_FORM)
    source = {"argument": [GOOD_FORM], "file": [str(file)], "stdin": [], "dash": ["-"]}[how]
    result = check("form", *source, "--json", given=GOOD_FORM)
    assert told(result) == [{"verdict": "allow", "problems": [], "secrets": []}]
    assert result.exit_code == 0


@pytest.mark.shows("F1")
def test_a_form_that_the_protocol_does_not_allow_is_refused_and_exit_status_is_one() -> None:
    result = check("form", BAD_FORM, "--json")
    assert told(result) == [
        {
            "verdict": "refuse",
            "problems": [
                {"rule": "nested", "field": "a", "message": "A form is flat; a field cannot be an object."}
            ],
            "secrets": [],
        }
    ]
    assert result.exit_code == 1


@pytest.mark.shows("S1")
def test_a_form_that_asks_for_a_secret_is_refused() -> None:
    result = check("form", SECRET_FORM, "--json")
    (report,) = told(result)
    assert report["verdict"] == "refuse"
    assert [(secret["field"], secret["tier"]) for secret in report["secrets"]] == [("password", 1)]
    assert result.exit_code == 1


@pytest.mark.shows("F6")
def test_an_answer_is_checked_and_all_problems_are_listed() -> None:
    result = check("answer", GOOD_ANSWER, "--json")
    assert told(result) == [{"ok": True, "problems": [], "secrets": []}]
    assert result.exit_code == 0
    result = check("answer", BAD_ANSWER, "--json")
    (report,) = told(result)
    assert report["ok"] is False
    assert [(problem["field"], problem["rule"]) for problem in report["problems"]] == [
        ("size", "option"),
        ("colour", "unknown_field"),
    ]
    assert result.exit_code == 1


def test_lines_come_out_in_the_order_they_went_in_and_a_bad_one_stops_nothing() -> None:
    lines = [GOOD_FORM, "{", BAD_FORM, "", '{"a": 1, "a": 2}', "[" * 5000 + "]" * 5000, GOOD_FORM]
    result = check("form", "--jsonl", given="\n".join(lines) + "\n")
    reports = told(result)
    assert [report["verdict"] for report in reports] == ["allow", *["refuse"] * 5, "allow"]
    rules = [[problem["rule"] for problem in report["problems"]] for report in reports]
    assert rules == [[], ["json"], ["nested"], ["json"], ["duplicate_key"], ["depth"], []]
    assert result.exit_code == 1


def test_lines_of_answers_work_the_same() -> None:
    result = check("answer", "--jsonl", given=f"{BAD_ANSWER}\nnull\n{GOOD_ANSWER}")
    assert [report["ok"] for report in told(result)] == [False, False, True]


def test_people_read_text() -> None:
    result = check("form", BAD_FORM)
    assert result.stdout == "refuse\n  a: A form is flat; a field cannot be an object. (nested)\n"
    assert check("form", GOOD_FORM).stdout == "allow\n"
    assert check("answer", GOOD_ANSWER).stdout == "ok\n"
    assert check("answer", BAD_ANSWER).stdout.splitlines()[0] == "not ok"
    refused = check("form", SECRET_FORM).stdout
    assert "  password: The field 'password' asks for a password. (password)\n" in refused
    assert "    Because of: password.\n" in refused


@pytest.mark.shows("D7")
def test_a_hostile_name_is_shown_inert() -> None:
    schema = {"type": "object", "properties": {"\x1b]0;owned\x07": {"type": "object"}}}
    stdout = check("form", json.dumps({"message": "x", "requestedSchema": schema})).stdout
    assert "\x1b" not in stdout
    assert "owned" in stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["form", "no-such-file.json"],
        ["form", "--json", "--jsonl"],
        ["form", "--nonsense"],
        ["answer", "--revision", "1999-01-01"],
        ["nothing"],
    ],
)
def test_wrong_use_is_exit_status_two(arguments: list[str]) -> None:
    result = check(*arguments, given="{}")
    assert result.exit_code == 2
    assert result.stdout == ""


def test_a_link_is_no_form() -> None:
    params = {"mode": "url", "message": "x", "url": "https://example.org/", "elicitationId": "1"}
    (report,) = told(check("form", json.dumps(params), "--json"))
    assert [problem["rule"] for problem in report["problems"]] == ["mode"]


@pytest.mark.shows("F3")
def test_the_rules_of_another_revision_can_be_asked_for() -> None:
    titled = {"type": "string", "oneOf": [{"const": "a", "title": "A"}]}
    params = json.dumps({"message": "x", "requestedSchema": {"type": "object", "properties": {"x": titled}}})
    assert check("form", params).exit_code == 0
    assert check("form", params, "--revision", "2025-06-18").exit_code == 1


@pytest.mark.parametrize("command", [["form"], ["answer"], []])
def test_help_teaches_with_examples(command: list[str]) -> None:
    result = check(*command, "--help")
    assert result.exit_code == 0
    assert ("Examples:" in result.stdout) == bool(command)


@pytest.mark.parametrize("kind", ["form", "answer"])
def test_every_example_of_the_help_works(kind: str, tmp_path: Path) -> None:
    """The literal JSON of the help, run as it stands."""
    text = check(kind, "--help").stdout.split("Examples:")[1]
    literal = text[text.index("'") + 1 : text.rindex("'")]
    assert check(kind, literal).exit_code in {0, 1}
    assert "json" not in {problem["rule"] for problem in told(check(kind, literal, "--json"))[0]["problems"]}


@pytest.mark.slow
def test_the_command_is_installed_and_reads_many_lines_in_one_go() -> None:
    command = [str(Path(sys.executable).with_name("handraise")), "check", "form", "--jsonl"]
    done = subprocess.run(command, input=f"{GOOD_FORM}\n" * 300, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count('"allow"') == 300


B = Revision.NOVEMBER_2025


def form(message: object = "Hello", **properties: object) -> str:
    return json.dumps({"message": message, "requestedSchema": {"type": "object", "properties": properties}})


def rules(report: dict[str, Any]) -> list[tuple[str | None, str]]:
    return [(problem["field"], problem["rule"]) for problem in report["problems"]]


def test_every_field_that_is_wrong_is_named_beside_what_ended_the_reading() -> None:
    report = judge_question(
        form("x" * 65_537, a={"type": "object"}, b={"type": "string", "format": "ipv4"}), B
    )
    assert rules(report) == [(None, "message"), ("a", "nested"), ("b", "format")]
    assert is_refused(report)
    report = judge_question(form(a={"type": "object"}, b={"type": "array"}), B)
    assert rules(report) == [("a", "nested"), ("b", "array")]


@pytest.mark.shows("S2")
def test_personal_data_is_a_warning_and_not_refused() -> None:
    report = judge_question(
        form("Your details", ssn={"type": "string", "title": "Social security number"}), B
    )
    assert report["verdict"] == "warn"
    assert not is_refused(report)


@pytest.mark.parametrize("text", ["null", "[]", '"x"', "{}", '{"requestedSchema": 1}', '{"content": {}}'])
def test_an_answer_without_a_form_is_not_ok(text: str) -> None:
    report = judge_answer(text, B)
    assert report["ok"] is False
    assert report["problems"]


def test_a_form_that_is_wrong_makes_its_answer_wrong() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object"}, "b": {"type": "null"}}}
    report = judge_answer(json.dumps({"requestedSchema": schema, "content": {}}), B)
    assert rules(report) == [("a", "nested"), ("b", "type")]


def test_an_answer_without_content_is_not_ok() -> None:
    schema = {"type": "object", "properties": {}}
    assert rules(judge_answer(json.dumps({"requestedSchema": schema}), B)) == [(None, "content")]


@pytest.mark.shows("S4")
def test_a_secret_that_was_typed_into_an_answer_is_not_ok() -> None:
    schema = {"type": "object", "properties": {"note": {"type": "string"}}}
    typed = (
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA\n-----END PRIVATE KEY-----"
    )
    report = judge_answer(json.dumps({"requestedSchema": schema, "content": {"note": typed}}), B)
    assert (report["ok"], report["problems"]) == (False, [])
    assert [(secret["field"], secret["tier"], secret["kind"]) for secret in report["secrets"]] == [
        ("note", 1, "private_key")
    ]


def asked(message: str, **properties: Any) -> dict[str, Any]:
    return {"message": message, "requestedSchema": {"type": "object", "properties": properties}}


def test_a_doubtful_form_rests_on_its_own_words() -> None:
    form = asked("Before we start", v={"type": "string", "title": "The thing you change every 90 days"})
    result = check("form", json.dumps(form))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "doubtful"
    assert "Because of: The thing you change every 90 days, change every 90 days." in result.stdout


def test_the_questions_of_a_call_are_judged_together() -> None:
    questions = [
        asked("Do you know your PIN?", ok={"type": "boolean"}),
        asked("Which one is it?", v={"type": "string"}),
    ]
    report = judge_question(json.dumps(questions), Revision.NOVEMBER_2025)
    assert report["verdict"] == "doubtful"
    assert [secret["words"] for secret in report["secrets"]] == [["your PIN"]]
    assert judge_question(json.dumps(questions[1]), Revision.NOVEMBER_2025)["verdict"] == "allow"


def check_url(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["check", "url", *arguments], input=given)


def told_of_link(result: Result) -> Any:
    return json.loads(result.stdout)


@pytest.mark.shows("L12")
def test_a_link_as_an_argument_is_judged_and_a_danger_is_exit_status_one() -> None:
    result = check_url("https://evil.example\\@github.com/login", "--json")
    assert result.exit_code == 1
    report = told_of_link(result)
    assert set(report) == {"verdict", "reasons", "href", "registrable_domain", "host"}
    assert report["verdict"] == "danger"
    assert "backslash" in report["reasons"]
    assert report["href"] == "https://evil.example/@github.com/login"
    assert (report["registrable_domain"], report["host"]) == ("evil.example", "evil.example")


def test_a_link_that_cannot_be_read_has_no_href() -> None:
    assert told_of_link(check_url("https://a b.example/", "--json")) == {
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
    assert check_url("http://127.0.0.1:8765/", *options).exit_code == status


@pytest.mark.parametrize("how", ["argument", "file", "stdin", "dash"])
def test_json_may_come_as_argument_file_or_standard_input(how: str, tmp_path: Path) -> None:
    text = json.dumps(
        {"url": "http://localhost:3000/", "context": {"transport": "stdio", "server_host": None}}
    )
    (tmp_path / "link.json").write_text(text)
    arguments = {"argument": [text], "file": [str(tmp_path / "link.json")], "stdin": [], "dash": ["-"]}[how]
    result = check_url("--json", *arguments, given=text)
    assert result.exit_code == 0
    assert told_of_link(result)["reasons"] == ["loopback"]


@pytest.mark.shows("L5")
def test_the_text_shows_the_whole_link_the_site_and_why() -> None:
    result = check_url("https://bücher.example/" + "a" * 3000)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == ["warn", "  https://xn--bcher-kva.example/" + "a" * 3000]
    assert "  site: xn--bcher-kva.example" in result.stdout
    assert "  reads as: bücher.example" in result.stdout
    assert "The address is very long. (long_url)" in result.stdout


@pytest.mark.shows("D7")
def test_nothing_of_the_link_reaches_the_terminal_raw() -> None:
    output = check_url("javascript:\x1b[31m\u202e\x07").stdout
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
def test_wrong_use_of_check_url_is_exit_status_two(arguments: list[str]) -> None:
    assert check_url(*arguments).exit_code == 2


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
    result = check_url("--jsonl", given=lines)
    assert [json.loads(line)["verdict"] for line in result.stdout.splitlines()] == ["ok", "warn"]
    assert result.exit_code == 0
