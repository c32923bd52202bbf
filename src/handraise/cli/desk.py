"""`handraise desk`: how you prove at your desk that it is you, with a code or a passkey."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from datetime import UTC, datetime
from getpass import getpass
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from handraise.cli.common import AsJson
from handraise.display import for_line

if TYPE_CHECKING:
    from handraise.desks.passkeys import PasskeyFile, Passkeys


app = typer.Typer(
    help="Make your desk code and add passkeys. They make sure that only you answer.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_CODE_EXAMPLES = """Examples:

\b
  handraise desk code

Exit status: 0 when a code was made, 1 when it was not, 2 for wrong use.
"""


@app.command(epilog=_CODE_EXAMPLES)
def code() -> None:
    """Make your desk code. It is shown once, at this terminal.

    On macOS and Windows, under WSL and where /proc is hidden, the system does not say which program opens your desk. It
    could be one that your client started. There the desk asks for this code. Make it before you let a model work, and
    keep it where no program reads it. Then restart your client. To change the code, you type the old one.
    """
    from handraise.desks.codes import DeskCode, desk_code_file, new_desk_code, show_at_terminal

    file = desk_code_file(os.environ)
    if not show_at_terminal(""):
        raise typer.BadParameter("there is no terminal to show the code at; run it in a terminal of your own")
    known = DeskCode.load(file)
    if known is not None and not known.is_it(getpass("Your desk code until now: ")):
        typer.echo("That is not your desk code. Nothing was changed.", err=True)
        typer.echo(f"If you lost it, remove {file} and run this again.", err=True)
        raise typer.Exit(1)
    made = new_desk_code(file)
    show_at_terminal(f"Your desk code: {made}\nIt is not shown again. Your desk asks for it when it opens.\n")


_PASSKEY_EXAMPLES = """Examples:

\b
  handraise desk passkey add
  handraise desk passkey add --name phone
  handraise desk passkey list
  handraise desk passkey remove phone

Say in handraise.toml which questions need it: [desk] passkey = ["guards", "typed"]

Exit status: 0 when it is done, 1 when nothing was changed, 2 for wrong use.
"""
_PATIENCE: Final = 300.0
"""Seconds to wait for the page in the browser."""
_LONGEST: Final = 40
_TROUBLES: Final = {
    "NotAllowedError": "The browser says that it was cancelled, or took too long. You can press the button again.",
    "InvalidStateError": "This device has a passkey for the desk already. Use another one, or stop here with Ctrl+C.",
    "refused": "What the browser sent could not be checked. You can press the button again.",
}
_IN_VAIN: Final = {
    "Unsupported": "This browser has no passkeys. Use a current Chrome, Edge, Firefox or Safari.",
    "SecurityError": "The browser did not take http://localhost as the desk's address. Try another browser.",
    "NotSupportedError": "This device has nothing that could keep a passkey: no sensor, PIN or security key.",
}

passkeys = typer.Typer(
    help="Manage the passkeys that prove your yes at the web desk.",
    epilog=_PASSKEY_EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(passkeys, name="passkey")


@passkeys.command(epilog=_PASSKEY_EXAMPLES)
def add(
    name: Annotated[str | None, typer.Option("--name", help="A name for it.", show_default="passkey")] = None,
) -> None:
    """Add a passkey: fingerprint, face, PIN or security key.

    Your browser opens a page with one button. If you have a passkey already, you use that one first.
    """
    from handraise.this_user import local_person

    file, passkeys = _kept()
    person = local_person()
    taken = {each.name for each in passkeys.of(person)}
    if name is not None and (not name.strip() or not name.isprintable() or len(name) > _LONGEST):
        raise typer.BadParameter(f"a name is printable text of at most {_LONGEST} characters")
    if name in taken:
        raise typer.BadParameter(f"you have a passkey called {name!r} already; choose another name")
    _go(file, "add", name or passkeys.free_name(person))


@passkeys.command("list", epilog=_PASSKEY_EXAMPLES)
def list_passkeys(as_json: AsJson = False) -> None:
    """List your passkeys."""
    file, _ = _kept(installed=False)
    found = file.all()
    if as_json:
        told = [{"name": each.name, "host": each.rp_id, "created": each.created} for each in found]
        typer.echo(json.dumps(told))
        return
    if not found:
        typer.echo("You have no passkey. Add one with: handraise desk passkey add")
        return
    width = max(len(for_line(each.name)) for each in found)
    for each in found:
        made = datetime.fromtimestamp(each.created, UTC).astimezone()
        typer.echo(f"{for_line(each.name):<{width}}  {for_line(each.rp_id)}  added {made:%Y-%m-%d %H:%M}")
    typer.echo(f"They are kept in {file.path}", err=True)


@passkeys.command(epilog=_PASSKEY_EXAMPLES)
def remove(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Its name, as `list` shows it.", show_default=False)
    ],
) -> None:
    """Remove a passkey. You confirm that with this passkey or another one of yours."""
    from handraise.this_user import local_person

    file, passkeys = _kept()
    taken = sorted(each.name for each in passkeys.of(local_person()))
    if name not in taken:
        there = f"there is {', '.join(taken)}" if taken else "you have none"
        raise typer.BadParameter(f"no passkey of yours is called {name!r}; {there}")
    _go(file, "remove", name)


def _kept(*, installed: bool = True) -> tuple[PasskeyFile, Passkeys]:
    from handraise.desks.passkeys import LOCAL, PasskeyFile, Passkeys, require_library

    if installed:
        require_library()
    file = PasskeyFile()
    return file, Passkeys(file, rp_id=LOCAL, origin=lambda: "")


def _go(file: PasskeyFile, purpose: Literal["add", "remove"], name: str) -> None:
    """Open the page, and wait for the person's action there."""
    import asyncio

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise typer.BadParameter("this needs you at a terminal: run it in one of your own")
    try:
        done = asyncio.run(_wait(file, purpose, name))
    except KeyboardInterrupt:
        typer.echo("Nothing was changed.", err=True)
        raise typer.Exit(1) from None
    raise typer.Exit(0 if done else 1)


async def _wait(file: PasskeyFile, purpose: Literal["add", "remove"], name: str) -> bool:
    import asyncio

    from handraise.access import AccessCheck
    from handraise.desks import Queue
    from handraise.desks.web import WebDesk
    from handraise.desks.web.sessions import PasskeyTask
    from handraise.gateway.desk_socket import ask_desk, desk_sockets
    from handraise.this_user import local_person
    from handraise.urls.open import Opened, open_file

    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    told = asyncio.Event()

    def heard(what: str, detail: str) -> None:
        if what in ("added", "removed") and not ended.done():
            ended.set_result("")
        elif what == "seen" and ended.done():
            told.set()
        elif what == "proven":
            typer.echo("That is you. Now press the button for the new one.", err=True)
        elif what == "trouble" and detail in _IN_VAIN and not ended.done():
            ended.set_result(_IN_VAIN[detail])
        elif what == "trouble":
            typer.echo(
                _TROUBLES.get(detail, "The browser could not do it. You can try again there."), err=True
            )

    access = AccessCheck()
    looks = [ask_desk(socket, {"do": "look"}) for socket in desk_sockets()]
    access.add_families([each.get("clients") for each in looks if each is not None])
    async with WebDesk(Queue(), passkeys=file, on_passkey=heard, access=access) as desk:
        passkey_task = PasskeyTask(purpose, name)
        opened = await asyncio.to_thread(open_file, desk.sign_in_file(local_person(), passkey_task))
        if isinstance(opened, Opened):
            typer.echo("Your browser opens a page with one button. Press it there.", err=True)
        else:
            url = desk.sign_in_url(local_person(), passkey_task)
            typer.echo(f"{opened.sentence}\nOpen this page in a browser on this computer:\n  {url}", err=True)
        typer.echo(f"Waiting for {_PATIENCE / 60:.0f} minutes; Ctrl+C stops.", err=True)
        try:
            async with asyncio.timeout(_PATIENCE):
                trouble = await ended
        except TimeoutError:
            trouble = "Nobody pressed the button in time."
        if not trouble:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_PAGE):
                    await told.wait()
    if trouble:
        typer.echo(f"{trouble} Nothing was changed.", err=True)
        return False
    typer.echo(_DONE[purpose].format(name))
    return True


_LAST_PAGE: Final = 3.0
"""Seconds for the browser to fetch the final page."""
_DONE: Final = {
    "add": 'Added {!r}. Say in handraise.toml which questions need it: [desk] passkey = ["guards", "typed"]',
    "remove": "Removed {!r}.",
}
