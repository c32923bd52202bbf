"""Findings, as they are printed."""

from __future__ import annotations

import json

from handraise.lint import RULES, lint_text
from handraise.lint.run import as_text, dump_json, dump_sarif, explained, rules_table

TEXT = 'async def a():\n    answer = await ask.text(f"Which one of {count}?")\n    return answer.data\n'


def test_text_has_the_line_and_a_caret_below_the_place() -> None:
    assert as_text(lint_text(TEXT, "server.py")).splitlines() == [
        "server.py:3:12: HR201 answer not looked at",
        "    return answer.data",
        "           ^^^^^^^^^^^",
        "    `.data` is taken from an answer that nobody looked at.",
        "",
        "1 finding in 1 file.",
        "`handraise lint --explain HR201` says why, and how to fix it.",
    ]


def test_a_long_line_is_cut_around_the_place() -> None:
    text = f'x = "{"y" * 200}"; await ask.confirm(f"Delete {{name}}?")'
    _, line, caret, *_ = as_text(lint_text(text)).splitlines()
    assert len(line) <= 78
    assert line[caret.index("^") :].startswith('ask.confirm(f"Delete {name}?")')


def test_source_is_shown_inert() -> None:
    shown = as_text(lint_text('await ask.confirm(f"\x1b[31m{x}\u202e?")', "a\x1b.py"))
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_nothing_found_is_said() -> None:
    assert as_text([]) == "Nothing found."


def test_json_names_the_rule_and_how_to_mend_it() -> None:
    said = json.loads(dump_json(lint_text(TEXT, "server.py")))
    assert said["ok"] is False
    [finding] = said["findings"]
    assert (finding["code"], finding["line"], finding["column"]) == ("HR201", 3, 12)
    assert finding["fix"] == RULES["HR201"].fix


def test_sarif_points_to_the_place() -> None:
    log = json.loads(dump_sarif(lint_text(TEXT, "server.py")))
    [run] = log["runs"]
    [result] = run["results"]
    assert (log["version"], result["ruleId"]) == ("2.1.0", "HR201")
    location = result["locations"][0]["physicalLocation"]
    assert location["region"] == {"startLine": 3, "startColumn": 12, "endColumn": 23}
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == set(RULES)


def test_every_rule_is_explained_within_eighty_columns() -> None:
    for rule in RULES.values():
        prose = explained(rule).partition("Wrong:")[0]
        assert all(len(line) <= 80 for line in prose.splitlines()), rule.code
    assert len(rules_table().splitlines()) == len(RULES)
