"""The configuration file is read strictly: typed settings, or every problem with its line."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.errors import SetupError
from handraise.policy import CancelIt, Park, RunHook, Settings
from handraise.policy.files import lines_of_keys, parse_settings
from handraise.policy.setting_types import Setting
from handraise.policy.settings import SETTINGS


def problems(text: str, **options: Any) -> list[str]:
    with pytest.raises(SetupError) as caught:
        parse_settings(text, **options)
    return str(caught.value).splitlines()


def test_an_empty_file_gives_the_defaults() -> None:
    assert parse_settings("") == Settings()


def test_settings_are_typed_and_grouped_as_in_the_file() -> None:
    settings = parse_settings(
        """
        default = "block"
        [links]
        only = ["Example.ORG."]
        [limits]
        per_call = 3
        quiet_after_decline = 0
        [servers.notes]
        asking = "allow"
        limits.per_call = 30
        [servers."https://shop.example/mcp"]
        asking = "mute"
        """
    )
    assert settings.default == "block"
    assert settings.links.only == ("example.org",)
    assert settings.limits.quiet_after_decline == 0.0
    assert (settings.limits_for("notes").per_call, settings.limits_for("shop").per_call) == (30, 3)
    assert settings.limits_for("notes").quiet_after_decline == 0.0
    assert settings.servers["https://shop.example/mcp"].asking == "mute"


@pytest.mark.shows("S2")
def test_the_strict_preset_changes_defaults_and_what_the_file_says_itself_goes_before() -> None:
    strict = parse_settings('preset = "strict"')
    assert (strict.forms.national_ids, strict.forms.personal_data) == ("refuse", "refuse")
    softer = parse_settings('preset = "strict"\nforms.personal_data = "warn"')
    assert (softer.forms.national_ids, softer.forms.personal_data) == ("refuse", "warn")


def test_every_problem_is_told_at_once_with_its_line_its_key_and_what_is_allowed() -> None:
    text = 'preset = "strickt"\n\n[limits]\nper_minut = 3\nper_hour = [\n 1,\n]\n[servers.a]\nasking = true\n[colour]\n'
    assert problems(text, source="my.toml") == [
        'my.toml:1: preset: use "standard" or "strict"',
        "my.toml:4: limits.per_minut: there is no such setting; did you mean per_minute?",
        "my.toml:5: limits.per_hour: use a whole number from 1 to 10000",
        'my.toml:9: servers.a.asking: use "allow", "mute" or "block"',
        "my.toml:10: colour: there is no such setting; there are: "
        "preset, default, forms, links, limits, desk, headless, ledger, gateway, store, servers, guards",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("limits = 3", "this is a table, not a value"),
        ("servers = 3", "this is a table, not a value"),
        ("servers.notes = 'block'", "this is a table, not a value"),
        ('servers."".asking = "block"', "printable"),
        ('servers.notes.roots = "/home"', "a list of the full paths"),
        ('servers.notes.roots = ["Notes"]', "a list of the full paths"),
        ('servers.notes.roots = ["/a\\u0000"]', "a list of the full paths"),
        ("limits.per_call = true", "whole number"),
        ("limits.per_call = 1.0", "whole number"),
        ("limits.per_call = 0", "from 1 to 1000"),
        ("limits.quiet_after_decline = nan", "number of seconds"),
        ("limits.quiet_after_decline = inf", "number of seconds"),
        ("limits.quiet_after_decline = -1", "number of seconds"),
        ("forms.unsafe_credentials = 1", "true or false"),
        ('links.only = "example.org"', "list of domain names"),
        ('links.only = ["https://example.org/"]', "list of domain names"),
        ('links.only = ["*.example.org"]', "list of domain names"),
        ("headless.hook = 'rm -rf x'", "list with the full path"),
        ("headless.hook = ['answer']", "full path"),
        ("headless.hook_timeout = 0", "number of seconds"),
        ("headless.rule = 'hook'", "needs headless.hook"),
        ("headless.rule = 'invent'", '"park", "hook" or "cancel"'),
        ('headless.reason = "two\\nlines"', "on one line"),
        ("= 3", "this is not TOML"),
        ("a = 1\na = 2", "this is not TOML"),
        ("a = " + "[" * 5000, "this is not TOML"),
        ("#" * 300_000, "more than"),
    ],
)
def test_what_is_wrong_is_refused(text: str, told: str) -> None:
    assert any(told in problem for problem in problems(text))


@pytest.mark.shows("D9")
def test_the_rule_for_runs_without_a_person_is_a_value_to_act_on() -> None:
    assert parse_settings("").headless.decision() == Park()
    hook = 'headless = { rule = "hook", hook = ["/bin/answer", "-q"], hook_timeout = 2 }'
    assert parse_settings(hook).headless.decision() == RunHook(("/bin/answer", "-q"), 2.0)
    cancel = 'headless = { rule = "cancel", reason = "Night run." }'
    assert parse_settings(cancel).headless.decision() == CancelIt("Night run.")


@pytest.mark.parametrize(
    "setting",
    [
        'headless.hook = ["/tmp/evil"]',
        "forms.unsafe_credentials = true",
        "links.unsafe_dangerous = true",
        'forms.doubtful = "allow"',
        "gateway.too_fast = 0",
        'servers.evil.roots = ["~/"]',
    ],
)
def test_a_file_that_came_with_a_project_names_no_commands_and_switches_nothing_off(setting: str) -> None:
    [problem] = problems(setting, own_file=False)
    assert "put it into your own configuration file" in problem
    parse_settings(setting, own_file=True)


def test_a_file_that_came_with_a_project_may_repeat_the_defaults() -> None:
    assert parse_settings("forms.unsafe_credentials = false", own_file=False) == Settings()


def test_names_in_an_error_are_inert() -> None:
    assert all(problem.isprintable() for problem in problems('"\\u001b[31mred\\u202e" = 1'))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(st.sampled_from(SETTINGS), VALUES)
def test_a_setting_takes_a_value_or_says_what_it_wants(setting: Setting, value: object) -> None:
    told = None
    try:
        taken = setting.accepts.take(value)
    except ValueError as error:
        told = str(error)
    assert told == setting.accepts.allowed or taken == value or isinstance(taken, tuple)


LINES = st.sampled_from(
    [
        f"{setting.key} = {value}"
        for setting in SETTINGS
        for value in ("1", "true", '"warn"', "[]", "{}", "nan")
    ]
) | st.text(max_size=20)


@given(st.lists(LINES, max_size=6).map("\n".join))
def test_any_text_gives_settings_or_one_clear_error(text: str) -> None:
    told = ""
    try:
        settings = parse_settings(text)
    except SetupError as error:
        told = str(error)
    if told:
        assert all(line.startswith("handraise.toml:") and line.isprintable() for line in told.split("\n"))
    else:
        assert not settings.unsafe() or "unsafe_" in text


def test_a_list_of_words_takes_no_other_word() -> None:
    assert parse_settings('[desk]\npasskey = ["typed", "guards"]').desk.passkey == ("typed", "guards")
    allowed = 'handraise.toml:2: desk.passkey: use a list with any of "guards", "typed", "shared"'
    for wrong in ('["guard"]', '"guards"', "[1]", "true"):
        assert problems(f"[desk]\npasskey = {wrong}") == [allowed]


TEXT = '''# a comment
preset = "strict"

[limits]  # another
per_call = 1
list = [
  1,  # [not.a.table]
  2,
]

[servers."a.b"]
limits.per_hour = 2
text = """
[limits]
per_minute = 3
"""
inline = { one = 1, two = { three = 3 } }
[[many]]
x = 1
'''


def test_every_key_is_found_on_the_line_on_which_it_starts() -> None:
    lines = lines_of_keys(TEXT)
    assert lines == {
        ("preset",): 2,
        ("limits",): 4,
        ("limits", "per_call"): 5,
        ("limits", "list"): 6,
        ("servers",): 11,
        ("servers", "a.b"): 11,
        ("servers", "a.b", "limits"): 12,
        ("servers", "a.b", "limits", "per_hour"): 12,
        ("servers", "a.b", "text"): 13,
        ("servers", "a.b", "inline"): 17,
        ("servers", "a.b", "inline", "one"): 17,
        ("servers", "a.b", "inline", "two"): 17,
        ("servers", "a.b", "inline", "two", "three"): 17,
        ("many",): 18,
        ("many", "x"): 19,
    }


def test_line_ends_of_other_systems_count_the_same() -> None:
    assert lines_of_keys(TEXT.replace("\n", "\r\n")) == lines_of_keys(TEXT)


def test_a_value_of_endless_lines_ends_the_search() -> None:
    lines = lines_of_keys("a = 1\nb = [\n" + "1,\n" * 5000 + "]\nc = 1\n")
    assert lines == {("a",): 1}


@given(st.text(alphabet="ab.=\"[]{}\n\r#'1, ", max_size=60))
def test_whatever_toml_reads_can_be_looked_through(text: str) -> None:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert {path[0] for path in lines_of_keys(text)} == set(document)


@pytest.mark.parametrize(
    ("laxer", "stricter"),
    [
        ("limits.per_call = 1000", "limits.per_call = 2"),
        ("limits.per_round = 64", "limits.per_round = 1"),
        ("limits.per_minute = 1000", "limits.per_minute = 1"),
        ("limits.per_hour = 10000", "limits.per_hour = 60"),
        ("limits.quiet_after_decline = 0", "limits.quiet_after_decline = 60"),
        ("servers.evil.limits.per_hour = 10000", "servers.evil.limits.per_hour = 1"),
        ("forms.message_bytes = 1048576", "forms.message_bytes = 1000"),
        ("forms.fields = 500", "forms.fields = 1"),
        ("forms.options = 20000", "forms.options = 2"),
        ("gateway.sessions = 1000", "gateway.sessions = 1"),
        ("gateway.grace = 86400", "gateway.grace = 0"),
    ],
)
def test_a_file_that_came_with_a_project_may_only_make_limits_stricter(laxer: str, stricter: str) -> None:
    """The attack: a cloned repository allows its own server to flood the person with questions."""
    [problem] = problems(laxer, own_file=False)
    assert "put it into your own configuration file" in problem
    parse_settings(laxer, own_file=True)
    parse_settings(stricter, own_file=False)
