"""`handraise vault`: list the secrets a store keeps, and manage the keys that protect them. Never the secrets."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from handraise.cli.common import AsJson, report_leftover
from handraise.display import for_line
from handraise.errors import HandraiseError, SetupError

if TYPE_CHECKING:
    from handraise.vault import SecretInfo, Vault

T = TypeVar("T")

app = typer.Typer(
    help="List and forget secrets that people entered on a server's pages. Change their key.\n\n"
    "No command shows a secret.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

InStore: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--store", envvar="HANDRAISE_STORE", metavar="FILE", help="The server's store: Handraise(store=FILE)."
    ),
]
OfOwner: TypeAlias = Annotated[
    str | None, typer.Option("--owner", metavar="OWNER", help="The owner, as `vault list` writes it.")
]

_LIST_EXAMPLES = """Examples:

\b
  handraise vault list --store notes.db
  handraise vault list --store notes.db --json
"""
_FORGET_EXAMPLES = """Examples:

\b
  handraise vault forget github --store notes.db
  handraise vault forget github --store notes.db \\
      --owner '["token","https://id.example","ann"]'

Exit status: 0 when it is forgotten, 1 when nothing is kept, 3 when it is deleted but still on the disk, because
another connection reads the store. Then run the command again later.
"""
_ROTATE_EXAMPLES = """Examples:

\b
  handraise vault rotate --store notes.db
  HANDRAISE_VAULT_KEY="$NEW $OLD" handraise vault rotate --keep-keys \\
      --store notes.db

Exit status: 0 when the key is changed, 3 when data for the old key is still on the disk, because another connection
reads the store. Then run the command again later, with --keep-keys.
"""
_KEY_EXAMPLES = """Examples:

\b
  export HANDRAISE_VAULT_KEY=$(handraise vault new-key)
  handraise vault new-key --file vault.key
"""


@app.command(name="list", epilog=_LIST_EXAMPLES)
def list_(store: InStore, owner: OfOwner = None, as_json: AsJson = False) -> None:
    """List what is kept. Shows the service, the owner, the time and the expiry of each."""
    kept = _in_vault(store, lambda vault: vault.list(owner))
    if as_json:
        typer.echo(json.dumps([one._asdict() for one in kept]))
    elif not kept:
        typer.echo("The vault is empty.")
    for one in () if as_json else kept:
        typer.echo(_line(one))


@app.command(epilog=_FORGET_EXAMPLES)
def forget(
    service: Annotated[
        str, typer.Argument(metavar="SERVICE", help="The service, as `vault list` writes it.")
    ],
    store: InStore,
    owner: OfOwner = None,
    here_only: Annotated[
        bool,
        typer.Option(
            "--here-only", help="Do not tell the service of a connected account; it stays valid there."
        ),
    ] = False,
) -> None:
    """Forget a secret. The server asks for it again when it needs it.

    A connected account is revoked at its service first, if the service supports that.
    """

    async def work(vault: Vault) -> int:
        owners = {kept.owner for kept in await vault.list(owner) if kept.service == service}
        if len(owners) > 1:
            raise typer.BadParameter(f"{len(owners)} people have one; say whose with --owner")
        whose = "".join(owners)
        revoked = not here_only and await _revoke(await vault.find(whose, service) or {})
        forgotten = bool(whose) and await vault.forget(whose, service)
        left = await vault.purge()  # also when nothing is kept: forgotten secrets may still be on the disk
        if forgotten:
            typer.echo(f"Forgotten: {service}." + (" Its service has taken it back, too." if revoked else ""))
        else:
            typer.echo(f"Nothing is kept for {service}.", err=True)
        return report_leftover(left, f"handraise vault forget {service}") or (0 if forgotten else 1)

    raise typer.Exit(_in_vault(store, work))


async def _revoke(contents: Mapping[str, Any]) -> bool:
    """Revoke a connected account at its service. Other entries have no account."""
    if contents.get("kind") != "oauth":
        return False
    from handraise.pages.oauth.account import revoke_stored_grant

    try:
        return await revoke_stored_grant(contents)
    except HandraiseError as error:
        raise SetupError(
            f"The service did not take it back, so that nothing was forgotten: {error} "
            "(--here-only forgets it here and leaves it valid there.)"
        ) from None


@app.command(epilog=_ROTATE_EXAMPLES)
def rotate(
    store: InStore,
    keep_keys: Annotated[
        bool,
        typer.Option("--keep-keys", help="Make no new key: encrypt with the first of the existing ones."),
    ] = False,
) -> None:
    """Change the vault's key. Everything is encrypted with the new one, and the old one is dropped."""

    async def work(vault: Vault) -> int:
        typer.echo(f"Wrapped anew: {await vault.rotate(new=not keep_keys)}.")
        return report_leftover(await vault.purge(), "handraise vault rotate --keep-keys")

    raise typer.Exit(_in_vault(store, work))


@app.command(name="new-key", epilog=_KEY_EXAMPLES)
def make_key(
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="PATH", help="Write it to a private file, not to the screen."),
    ] = None,
) -> None:
    """Make a key for a vault."""
    from handraise.vault import KeyFile
    from handraise.vault.keys import new_key

    if file is None:
        typer.echo(new_key().hex())
        return
    if file.exists():
        raise typer.BadParameter(
            f"{file} exists already, and its key may still open secrets; name a new file"
        )
    try:
        KeyFile(file).save([new_key()])
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}", param_hint="--file") from None
    typer.echo(f"Written to {file}. Set HANDRAISE_VAULT_KEY_FILE={file} for the server.")


def _in_vault(store: Path, work: Callable[[Vault], Awaitable[T]]) -> T:
    if not store.is_file():
        raise typer.BadParameter(
            f"there is no store at {store}; name the file that the server has, as in Handraise(store=FILE)",
            param_hint="--store",
        )
    import asyncio

    return asyncio.run(_open(store, work))


async def _open(path: Path, work: Callable[[Vault], Awaitable[T]]) -> T:
    from handraise.stores import SqliteStore
    from handraise.vault import Vault, default_keys
    from handraise.vault.keys import new_key

    store = SqliteStore(path, keys=[new_key()])  # the vault's own keys count; the store's are not needed
    try:
        return await work(Vault(store.secrets, default_keys))
    finally:
        await store.aclose()


def _line(kept: SecretInfo) -> str:
    until = "for good" if kept.until is None else f"until {_day(kept.until)}"
    return for_line(f"{kept.service}  {kept.owner}  since {_day(kept.kept_at)}, {until}")


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
