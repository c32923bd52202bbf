"""Which files are checked, what is ignored, and how findings are shown."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.docs.snippets import ROOT, Page, pages

from handraise.errors import UsageError
from handraise.lint import RULES, RuleSelection, lint_paths, lint_text
from handraise.lint.run import as_text, dump_json, dump_sarif, explained, rules_table

IGNORES_ANSWER = 'await ask.confirm(f"Delete {name}?")'


@pytest.mark.shows("U5")
def test_the_examples_have_nothing_against_them() -> None:
    assert lint_paths([ROOT / "examples"]) == []


WRONG_ON_PURPOSE = {
    "docs/comparison.md": {"HR501"},  # the ways of asking that are not elicitation
    "docs/migration.md": {"HR401", "HR402"},  # what one migrates from
}
"""The pages that show how not to do it, and what is found in them."""


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_the_documentation_has_nothing_against_it_but_what_it_warns_of(page: Page) -> None:
    found = {
        finding.code
        for block in page.blocks
        if block.language == "python" and not block.marked("not run") and not block.marked("file")
        for finding in lint_text(block.text, page.name)
    }
    assert found == WRONG_ON_PURPOSE.get(page.name, set())


def test_the_sdks_ways_in_the_comparison_are_found() -> None:
    text = (ROOT / "examples/comparison.py").read_text(encoding="utf-8").replace("ignore-file", "")
    assert {finding.code for finding in lint_text(text)} == {"HR401", "HR402", "HR403"}


def test_a_finding_says_where_in_characters() -> None:
    [finding] = lint_text(f"größe = 1; {IGNORES_ANSWER}  # ä", "a.py")
    assert (finding.path, finding.line, finding.column, finding.end_column) == ("a.py", 1, 18, 47)
    assert finding.excerpt[17:47] == IGNORES_ANSWER.removeprefix("await ")


def test_a_comment_switches_a_rule_off_for_its_line() -> None:
    assert lint_text(f"{IGNORES_ANSWER}  # handraise: ignore[HR203]") == []
    assert lint_text(f"{IGNORES_ANSWER}  # only a reminder. handraise: ignore[HR101, HR2]") == []
    assert len(lint_text(f"{IGNORES_ANSWER}  # handraise: ignore[HR101]")) == 1
    assert len(lint_text(f"# handraise: ignore[HR203]\n{IGNORES_ANSWER}")) == 1
    assert len(lint_text(f'x = "# handraise: ignore-file[HR203]"\n{IGNORES_ANSWER}')) == 1


def test_no_comment_switches_everything_off() -> None:
    assert len(lint_text(f"{IGNORES_ANSWER}  # handraise: ignore")) == 1
    assert len(lint_text(f"{IGNORES_ANSWER}  # handraise: ignore[]")) == 1


def test_rules_are_selected_by_the_beginning_of_their_code() -> None:
    text = f'{IGNORES_ANSWER}\nx = (await ask.text("Your password?")).or_stop()'
    found = {
        selection: [finding.code for finding in lint_text(text, selection=selection)]
        for selection in (
            RuleSelection(),
            RuleSelection(("HR1",)),
            RuleSelection((), ("HR101",)),
            RuleSelection(("HR4",)),
        )
    }
    assert list(found.values()) == [["HR203", "HR101"], ["HR101"], ["HR203"], []]


@pytest.mark.parametrize("prefix", ["HR9", "E501", ""])
def test_a_rule_that_does_not_exist_cannot_be_selected(prefix: str) -> None:
    with pytest.raises(UsageError, match="--rules"):
        RuleSelection((prefix,))


@pytest.mark.parametrize("text", ["def a(:\n", "x = '\0'", "(" * 3000])
def test_what_cannot_be_parsed_is_a_finding(text: str) -> None:
    [finding] = lint_text(text)
    assert finding.code == "HR001"


def test_folders_are_searched_but_for_hidden_and_installed_code(tmp_path: Path) -> None:
    for name in ("a.py", "deep/b.py", ".venv/c.py", "deep/__pycache__/d.py", "notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(IGNORES_ANSWER)
    findings = lint_paths([tmp_path, tmp_path / "a.py"])
    assert [Path(finding.path).name for finding in findings] == ["a.py", "b.py"]


def test_a_file_in_another_encoding_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("x = 'ä'".encode("latin-1"))
    [finding] = lint_paths([tmp_path])
    assert finding.code == "HR001"


def test_a_path_that_is_not_there_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="nowhere"):
        lint_paths([Path("nowhere")])


def test_nothing_is_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(9)\n")
    assert lint_paths([trap]) == []
    assert not (tmp_path / "ran").exists()


def test_a_long_file_takes_no_long_time() -> None:
    tool = "@server.tool()\nasync def t{0}(a):\n    b = (await ask.text(f'Name {{a}}?')).or_stop()\n    return b\n"
    text = "\n".join(tool.format(number) for number in range(150))
    before = time.process_time()
    assert lint_text(text) == []
    assert time.process_time() - before < 5


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
