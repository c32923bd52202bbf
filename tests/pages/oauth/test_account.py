"""What an author may say about an account, and what is refused before anybody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitResult
from tests.pages.oauth.authority import Authority
from typer.testing import CliRunner

from handraise import Handraise, SqliteStore, ask
from handraise.cli.app import app
from handraise.errors import AccountError, SetupError
from handraise.pages import Pages
from handraise.pages.oauth import Account, Endpoints, FromVariable
from handraise.pages.oauth.account import dump_grant, revoke_stored_grant
from handraise.pages.oauth.authorization import Grant, renew, revoke
from handraise.pages.oauth.discovery import find_server
from handraise.this_user import local_person
from handraise.vault import KeyFile, Secret, Vault
from handraise.vault.keys import new_key


def test_an_account_is_known_by_its_name_in_small_letters() -> None:
    account = Account("Git  Place!", "id", "https://git.example", {"repo": "Read your code", "user": ""})
    assert account.service == "git-place"
    assert account.registration.host == "git.example"
    assert account.wishes == (("repo", "Read your code"), ("user", ""))


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "http://git.example"},
        {"issuer": "https://user@git.example"},
        {"issuer": None},
        {"client_id": ""},
        {"scopes": ("repo user",)},
        {"service": "../up"},
        {"logo": b"<html>"},
        {"parameters": {"redirect_uri": "https://evil.example"}},
    ],
    ids=str,
)
@pytest.mark.shows("L8")
def test_what_cannot_be_safe_is_refused(wrong: dict[str, Any]) -> None:
    right: dict[str, Any] = {"name": "Git", "client_id": "id", "issuer": "https://git.example"}
    with pytest.raises(SetupError):
        Account(**{**right, **wrong})


def test_endpoints_are_reached_by_https_or_on_this_computer() -> None:
    Endpoints("https://git.example/authorize", "http://127.0.0.1:7000/token")
    with pytest.raises(SetupError):
        Endpoints("https://git.example/authorize", "http://git.example/token")


@pytest.mark.shows("S5")
def test_a_client_secret_is_shown_by_nothing_and_a_missing_variable_is_named() -> None:
    account = Account("Git", "id", "https://git.example", client_secret="client-secret-77")
    assert "client-secret-77" not in repr(account) + repr(account.registration)
    with pytest.raises(SetupError, match="GIT_SECRET"):
        FromVariable("GIT_SECRET").reveal({})
    assert FromVariable("GIT_SECRET").reveal({"GIT_SECRET": "s"}) == "s"


def account(authority: Authority, **how: Any) -> Account:
    return Account("Git Place", "notes-client", authority.issuer, ("repo",), **how)


def grant(authority: Authority, expires_at: float | None = 0.0) -> Grant:
    authority.refresh_tokens.add("refresh-1")
    return Grant(Secret("access-1"), Secret("refresh-1"), expires_at, frozenset({"repo"}))


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyFile:
    file = KeyFile(tmp_path / "vault.key")
    file.save([new_key()])
    monkeypatch.setenv("HANDRAISE_VAULT_KEY_FILE", str(file.path))
    return file


@pytest.mark.shows("L8")
async def test_calls_at_once_renew_a_token_once_and_all_get_the_new_one(
    authority: Authority, keys: KeyFile, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "store.db", keys=["k" * 32])
    vault, tokens = Vault(store.secrets, lambda: keys), []
    place = account(authority, client_secret="s3")
    await vault.keep(local_person(), place.service, dump_grant(place, grant(authority)))
    server = MCPServer("notes")
    Handraise(store=store, pages=Pages(keys=keys)).install(server)

    @server.tool()
    async def use() -> str:
        tokens.append((await ask.connect(place)).or_stop())
        return "used"

    async def nobody_asked(context: Any, params: Any) -> ElicitResult:
        raise AssertionError("the vault has it")

    async with (
        Client(server, elicitation_callback=nobody_asked) as client,
        anyio.create_task_group() as calls,
    ):
        for _ in range(5):
            calls.start_soon(client.call_tool, "use", {})
    assert len(tokens) == 5
    assert len(authority.requests) == 1
    assert {token.reveal() for token in tokens} == {tokens[0].reveal()}
    assert tokens[0].reveal() != "access-1"
    kept = await vault.find(local_person(), place.service)
    assert kept is not None
    assert kept["access_token"] == tokens[0].reveal()
    assert kept["refresh_token"] in authority.refresh_tokens
    await store.aclose()


async def kept_in_a_file(path: Path, keys: KeyFile, place: Account, given: Grant) -> Vault:
    store = SqliteStore(path, keys=["k" * 32])
    vault = Vault(store.secrets, lambda: keys)
    await vault.keep(local_person(), place.service, dump_grant(place, given))
    await store.aclose()
    return vault


@pytest.mark.shows("L8")
async def test_forgetting_an_account_takes_it_back_at_its_service(
    authority: Authority, keys: KeyFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = account(authority, client_secret=FromVariable("GIT_PLACE_SECRET"))
    await kept_in_a_file(tmp_path / "store.db", keys, place, grant(authority))

    async def forget(*more: str) -> Any:
        command = ["vault", "forget", "git-place", "--store", str(tmp_path / "store.db"), *more]
        return await anyio.to_thread.run_sync(lambda: CliRunner().invoke(app, command))

    refused = await forget()
    assert refused.exit_code == 2
    assert "GIT_PLACE_SECRET" in refused.output
    assert "nothing was forgotten" in refused.output
    assert authority.revoked == []
    monkeypatch.setenv("GIT_PLACE_SECRET", "s3")
    done = await forget()
    assert done.output == "Forgotten: git-place. Its service has taken it back, too.\n"
    assert authority.revoked == ["refresh-1"]
    assert (await forget()).exit_code == 1


async def test_an_account_can_be_forgotten_here_only(
    authority: Authority, keys: KeyFile, tmp_path: Path
) -> None:
    place = account(authority, client_secret="written in the program")
    await kept_in_a_file(tmp_path / "store.db", keys, place, grant(authority))
    command = ["vault", "forget", "git-place", "--here-only", "--store", str(tmp_path / "store.db")]
    done = await anyio.to_thread.run_sync(lambda: CliRunner().invoke(app, command))
    assert done.output == "Forgotten: git-place.\n"
    assert authority.revoked == []


async def test_a_service_without_a_way_to_revoke_is_not_asked(authority: Authority) -> None:
    quiet = Endpoints(f"{authority.issuer}/authorize", f"{authority.issuer}/token")
    place = Account("Quiet", "notes-client", endpoints=quiet)
    assert not await revoke_stored_grant(dump_grant(place, grant(authority)))
    assert not await revoke_stored_grant({"secret": "typed"})


async def test_without_the_client_secret_the_author_is_told_how_to_revoke(authority: Authority) -> None:
    place = account(authority, client_secret="written in the program")
    with pytest.raises(AccountError, match="FromVariable"):
        await revoke_stored_grant(dump_grant(place, grant(authority)))
    assert authority.revoked == []


async def test_no_client_secret_is_kept_with_a_token(authority: Authority) -> None:
    kept = dump_grant(account(authority, client_secret="client-secret-77"), grant(authority))
    assert "client-secret-77" not in str(kept)


@pytest.mark.shows("L8")
@pytest.mark.parametrize(
    ("refuses", "reason"),
    [
        (
            {"error": "invalid_client", "error_description": "refresh-1 is wrong"},
            "'invalid_client', status 400",
        ),
        ({"error": "x" * 100}, f"'{'x' * 60}', status 400"),
        ({}, "'no reason', status 400"),
    ],
    ids=["described", "long", "none"],
)
async def test_why_a_service_refuses_is_told_without_what_was_sent(
    authority: Authority, refuses: dict[str, Any], reason: str
) -> None:
    authority.refuses = refuses
    place = account(authority)
    server = await find_server(place.registration)
    for attempt, told in (
        (revoke(place.registration, server, grant(authority)), f"revoking was refused: {reason}"),
        (renew(place.registration, server, grant(authority)), f"no token: {reason}"),
    ):
        with pytest.raises(AccountError) as refused:
            await attempt
        assert str(refused.value) == told
    assert authority.revoked == []
