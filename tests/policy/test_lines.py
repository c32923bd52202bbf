from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from handraise.policy.lines import lines_of_keys

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
