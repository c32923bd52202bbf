"""A client's file goes through the gateway and comes back, and nothing else in it changes."""

from __future__ import annotations

import difflib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.clients.samples import GOOSE, MCP_SERVERS, SAMPLES, VS_CODE, Sample

from handraise.errors import SetupError
from handraise.gateway.clients import rewriting
from handraise.gateway.clients.rewriting import (
    Plan,
    command_of,
    gateway_words,
    inner_of,
    own_command,
    plan,
    servers_in,
    through,
)
from handraise.gateway.clients.table import CLIENTS

GATEWAY = ["/opt/hand raise/bin/handraise"]
NOW = datetime(2026, 11, 16, 1, 2, 3, 4, tzinfo=UTC)


def planned(path: Path, client: str, **options: Any) -> Plan:
    return plan(CLIENTS[client], path, gateway=GATEWAY, **options)


def write(made: Plan, now: datetime) -> Path:
    return rewriting.write(made, now, made.path.parent / "backups")


def command(client: str, entry: Any) -> list[str]:
    entry = inner_of(CLIENTS[client], entry)
    return list(entry["command"]) if CLIENTS[client].one_list else [entry["command"], *entry.get("args", [])]


@pytest.fixture(params=SAMPLES, ids=lambda sample: f"{sample.client}-{sample.rewritten[0]}")
def sample(request: pytest.FixtureRequest) -> Sample:
    assert isinstance(request.param, Sample)
    return request.param


@pytest.fixture
def file(sample: Sample, tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text(sample.text, encoding="utf-8")
    return path


def test_the_gateway_starts_what_the_client_started(sample: Sample, file: Path) -> None:
    before = servers_in(CLIENTS[sample.client], sample.text)[1]
    made = planned(file, sample.client)
    after = servers_in(CLIENTS[sample.client], made.after.decode())[1]
    assert [change.server for change in made.changes] == list(sample.rewritten)
    assert [left.server for left in made.left] == list(sample.left)
    for name in sample.rewritten:
        old = command(sample.client, before[name])
        assert command(sample.client, after[name]) == [*GATEWAY, "gateway", "--name", name, "--", *old]
        kept = {key for key in before[name] if key not in ("command", "args", "transport")}
        assert {key: after[name][key] for key in kept} == {key: before[name][key] for key in kept}
    for name in sample.left:
        assert after[name] == before[name]


def test_only_lines_of_commands_change(sample: Sample, file: Path) -> None:
    made = planned(file, sample.client)
    removed = [
        line[2:]
        for line in difflib.ndiff(sample.text.splitlines(), made.after.decode().splitlines())
        if line.startswith("- ")
    ]
    assert removed
    assert all(word.strip().startswith(('"', "command", "args", "]", "-", "[")) for word in removed)
    for comment in ("// what the team uses", "/* hosted */", "# a runner", "# the newest", "// Zed settings"):
        assert (comment in sample.text) == (comment in made.after.decode())


def test_doing_it_again_changes_nothing(sample: Sample, file: Path) -> None:
    write(planned(file, sample.client), NOW)
    again = planned(file, sample.client)
    assert not again.changes
    assert again.after == again.before
    assert {left.server for left in again.left} == {*sample.rewritten, *sample.left}


def test_taking_it_away_leaves_what_was(sample: Sample, file: Path) -> None:
    write(planned(file, sample.client), NOW)
    write(planned(file, sample.client, undo=True), NOW.replace(minute=9))
    client = CLIENTS[sample.client]
    now, before = (servers_in(client, text)[1] for text in (file.read_text(), sample.text))
    assert {name: command(sample.client, now[name]) for name in sample.rewritten} == {
        name: command(sample.client, before[name]) for name in sample.rewritten
    }
    assert all(now[name] == before[name] for name in sample.left)


SPELLED = [
    ("codex", "[mcp_servers.a]\ncommand = 'npx'\nargs = ['-y', 'x y']\n"),
    ("codex", '[mcp_servers.a]\ncommand = "npx"\nargs = [\n  "-y",\n  "x", # why\n]\n'),
    ("gemini-cli", '{"mcpServers": {"a": {"command": "npx", "args": ["\\u002dy"]}}}'),
    ("cursor", '{"mcpServers":{"a":{"command":"npx","args":["-y","x"]}, "b":{"command":"x"}}}'),
]


@pytest.mark.parametrize(("client", "text"), SPELLED, ids=["quotes", "comment in array", "escape", "compact"])
def test_taking_it_away_gives_an_unchanged_file_back_as_it_was(
    client: str, text: str, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_bytes(text.encode())
    write(planned(file, client), NOW)
    assert file.read_bytes() != text.encode()
    write(planned(file, client, undo=True, backups=tmp_path / "backups"), NOW.replace(minute=9))
    assert file.read_bytes() == text.encode()


def test_taking_one_of_two_away_leaves_the_other(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(SPELLED[-1][1])
    write(planned(file, "cursor"), NOW)
    backups = tmp_path / "backups"
    write(planned(file, "cursor", undo=True, servers=["b"], backups=backups), NOW.replace(minute=9))
    assert "--name a" in planned(file, "cursor", undo=True).changes[0].before


def test_what_was_written_by_hand_afterwards_survives_taking_it_away(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(VS_CODE)
    write(planned(file, "vscode"), NOW)
    file.write_text(file.read_text().replace("// what the team uses", "// mine"))
    write(planned(file, "vscode", undo=True), NOW.replace(minute=9))
    assert file.read_text() == VS_CODE.replace("// what the team uses", "// mine")


def test_one_server_can_be_chosen(tmp_path: Path) -> None:
    file = tmp_path / "claude_desktop_config.json"
    file.write_text(MCP_SERVERS)
    assert [change.server for change in planned(file, "claude-desktop", servers=["bare"]).changes] == ["bare"]
    with pytest.raises(SetupError, match="no server 'none'"):
        planned(file, "claude-desktop", servers=["none"])


def test_a_server_over_http_goes_through_the_gateway_when_it_is_named_and_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(VS_CODE)
    made = planned(file, "vscode", servers=["docs"])
    entry = servers_in(CLIENTS["vscode"], made.after.decode())[1]["docs"]
    url = "https://docs.example.com/mcp"
    assert entry == {
        "type": "stdio",
        "command": GATEWAY[0],
        "args": ["gateway", "--name", "docs", "--url", url],
    }
    write(made, NOW)
    write(planned(file, "vscode", servers=["docs"], undo=True), NOW.replace(minute=9))
    assert file.read_text() == VS_CODE


def test_a_server_whose_headers_the_gateway_would_not_know_stays_even_when_named(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(MCP_SERVERS)
    (left,) = planned(file, "claude-desktop", servers=["remote"]).left
    assert "headers" in left.why


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("cursor", '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}'),
        ("cursor", '{"mcpServers": {"a": {"command": "x", "command": "y"}}}'),
        ("cursor", '{"mcpServers": {"a": {"command": "x"}}'),
        ("cursor", "[" * 5000),
        ("codex", '[mcp_servers.a\ncommand = "x"'),
        ("codex", 'mcp_servers = { a = { command = "x" } }'),
        ("codex", '[mcp_servers]\na = { command = "x" }'),
    ],
)
def test_a_file_that_is_not_understood_is_refused(client: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(SetupError):
        planned(file, client)
    assert file.read_text() == text


def test_the_file_as_it_was_is_kept_with_its_rights(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(VS_CODE)
    file.chmod(0o600)
    backup = write(planned(file, "vscode"), NOW)
    assert backup.read_text() == VS_CODE
    assert oct(file.stat().st_mode)[-3:] == oct(backup.stat().st_mode)[-3:] == "600"
    assert sorted(tmp_path.iterdir()) == sorted([file, backup.parent])


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real, link = tmp_path / "dotfiles" / "mcp.json", tmp_path / "mcp.json"
    real.write_text(VS_CODE)
    link.symlink_to(real)
    write(planned(link, "vscode"), NOW)
    assert link.is_symlink()
    assert "gateway" in real.read_text()


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(VS_CODE)
    made = planned(file, "vscode")
    file.write_text("{}")
    with pytest.raises(SetupError, match="meanwhile"):
        write(made, NOW)
    assert file.read_text() == "{}"


def test_goose_is_told_what_to_write_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(GOOSE)
    made = planned(file, "goose")
    assert made.by_hand == {
        "notes": [
            'cmd: "/opt/hand raise/bin/handraise"',
            'args: ["gateway", "--name", "notes", "--", "npx", "-y", "notes server", "it\'s #1"]',
        ]
    }
    assert made.after == made.before == GOOSE.encode()
    (left,) = planned(file, "goose", servers=["web"], undo=True).left
    assert left.server == "web"


def test_what_a_client_keeps_for_one_folder_is_rewritten_there(tmp_path: Path) -> None:
    own = tmp_path / ".claude.json"
    entry = {"command": "npx", "args": ["-y", "x"]}
    own.write_text(json.dumps({"mcpServers": {"a": entry}, "projects": {"/w": {"mcpServers": {"b": entry}}}}))
    (kept, _, shared), (_, file, others_too) = CLIENTS["claude-code"].in_folder(Path("/w"))
    assert (shared, others_too, file) == (False, True, Path("/w/.mcp.json"))
    made = plan(kept, own, gateway=GATEWAY)
    assert [change.server for change in made.changes] == ["b"]
    after = json.loads(made.after)
    assert after["mcpServers"]["a"] == entry
    assert after["projects"]["/w"]["mcpServers"]["b"]["command"] == GATEWAY[0]


def test_our_own_command_is_named_with_its_full_path() -> None:
    (command,) = own_command()
    assert Path(command).is_absolute()


@pytest.mark.parametrize(
    ("words", "after"),
    [
        (["/opt/handraise", "gateway", "--hold", "7", "--", "x"], ["--hold", "7", "--", "x"]),
        (["C:\\\\bin\\\\handraise.exe", "gateway", "--url", "u"], ["--url", "u"]),
        (["uvx", "--from", "handraise[all]", "handraise", "gateway", "--", "x"], None),  # too far behind
        (["uvx", "handraise", "gateway", "--", "x"], ["--", "x"]),
        (["python", "-m", "handraise", "gateway", "x"], ["x"]),
        (["other", "gateway", "--", "x"], None),
        (["handraise", "call", "--", "gateway"], None),
        (["gateway"], None),
        ([], None),
    ],
)
def test_what_a_gateway_of_ours_is_started_with_is_read(words: list[str], after: list[str] | None) -> None:
    entry = {"command": words[0] if words else "", "args": words[1:]}
    assert gateway_words(CLIENTS["gemini-cli"], entry) == after


@pytest.mark.parametrize(
    ("given", "behind"),
    [
        (["--hold", "7", "--", "x", "--", "y"], ["x", "--", "y"]),
        (["--url", "u"], "u"),
        (["--url"], None),
        ([], None),
    ],
)
def test_what_is_behind_the_gateway_is_read(given: list[str], behind: list[str] | str | None) -> None:
    entry = {"command": "handraise", "args": ["gateway", *given]}
    assert through(CLIENTS["gemini-cli"], entry) == behind


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        {"command": ""},
        {"command": 7},
        {"command": "x", "args": "y"},
        {"command": "x", "args": [7]},
    ],
)
def test_an_entry_without_a_command_starts_nothing(entry: Any) -> None:
    assert command_of(CLIENTS["gemini-cli"], entry) is None
