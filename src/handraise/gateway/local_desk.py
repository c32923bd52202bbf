"""The user's own desk, ledger and store, opened for the first question, and the notice on their screen."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handraise.access import AccessCheck
from handraise.desks import Queue
from handraise.desks.codes import AnswerCode, DeskCodeCheck
from handraise.desks.control import AnswerListener
from handraise.desks.gate import PolicyGate
from handraise.display import for_line
from handraise.errors import SetupError
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.desk_socket import DeskSocket
from handraise.gateway.options import Options
from handraise.gateway.tickets import TicketRepository
from handraise.ledger.own_ledger import own_ledger, policy_version
from handraise.policy import load_policy
from handraise.stores import own_or_named_store
from handraise.urls.open import open_file

if TYPE_CHECKING:
    from handraise.desks.web import WebDesk


async def open_question_handler(gate: PolicyGate, options: Options) -> QuestionHandler:
    """A handler of questions with this policy, the user's ledger and the store."""
    settings = gate.policy.settings
    async with AsyncExitStack() as opening:
        ledger = own_ledger(settings)
        if ledger is not None:
            await ledger.start()
            opening.push_async_callback(ledger.aclose)
        store = own_or_named_store(options.store)
        opening.push_async_callback(store.aclose)
        return QuestionHandler(
            Queue(),
            gate,
            timeout=options.wait,
            ledger=ledger,
            policy_version=policy_version(settings),
            tickets=TicketRepository(store.tickets, store),
            opened=opening.pop_all(),
            limits=settings.forms.limits(),
        )


logger = logging.getLogger(__name__)


class LocalDesk:
    """The web desk of this computer's user, opened when they come to it."""

    def __init__(
        self,
        asking: QuestionHandler,
        gate: PolicyGate,
        options: Options,
        access: AccessCheck,
        desk_code: DeskCodeCheck,
    ) -> None:
        self._asking = asking
        self._gate = gate
        self._options = options
        self._access = access
        self._desk_code = desk_code
        self._opening = asyncio.Lock()
        self._desk: WebDesk | None = None
        self._invited = False
        self.code = AnswerCode()
        """The code for answering from a terminal. The web desk shows it."""

    async def sign_in_file(self, question: str | None = None) -> Path:
        """A private file that signs one browser in, once, and opens the question with this id."""
        from handraise.desks.web import WebDesk

        async with self._opening:
            if self._desk is None:
                desk = WebDesk(
                    self._asking.queue,
                    gate=self._gate,
                    code=self.code,
                    earlier=self._asking.earlier,
                    access=self._access,
                    desk_code=self._desk_code,
                )
                self._desk = await self._asking.open(desk)
        return self._desk.sign_in_file(question=question)

    async def call_person(self, server: str) -> None:
        """Notify the person that a question waits, as the options say. The model learns nothing from it."""
        if self._options.notify:
            await asyncio.to_thread(notify, server)
        if self._options.browser and not self._invited:
            self._invited = True
            await asyncio.to_thread(open_file, await self.sign_in_file())


async def open_asking(options: Options, access: AccessCheck, desk_code: DeskCodeCheck) -> QuestionHandler:
    """A handler of questions with the user's own policy, ledger and desks.

    `access` guards the desks. `desk_code` opens them on systems that do not say which program connects.
    """
    gate = PolicyGate(load_policy())
    asking = await open_question_handler(gate, options)
    desk = LocalDesk(asking, gate, options, access, desk_code)
    asking.call_person = desk.call_person
    try:
        await asking.open(AnswerListener(asking.queue, desk.code, access=access))
        await asking.open(DeskSocket(asking.queue, desk.sign_in_file, access=access, code=desk_code))
    except (SetupError, OSError) as error:  # a socket's path may be too long for the system
        logger.warning("questions cannot be answered from a terminal here: %s", error)
    return asking


_APPLE: Final = ("on run words", 'display notification (item 1 of words) with title "Handraise"', "end run")
_POWERSHELL: Final = r"{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe"
"""The program in whose name Windows shows it. It must be in the Start menu."""
_WINDOWS: Final = (
    "[void][Windows.UI.Notifications.ToastNotificationManager,Windows.UI.Notifications,ContentType=WindowsRuntime];"
    "$n=[Windows.UI.Notifications.ToastNotificationManager];"
    "$x=$n::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02);"
    "$t=$x.GetElementsByTagName('text');"
    "$t[0].InnerText='Handraise';$t[1].InnerText=$env:HANDRAISE_NOTICE;"
    f"$n::CreateToastNotifier('{_POWERSHELL}').Show([Windows.UI.Notifications.ToastNotification]::new($x))"
)


@dataclass(frozen=True, slots=True)
class Command:
    """The command that shows a notice on one system."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of this process."""


def notify(server: str) -> bool:
    """Show that a server asks; False when the system has no notices, or on failure."""
    command = notice_command(server, sys.platform, os.environ)
    program = None if command is None else shutil.which(command.words[0])
    if command is None or program is None:
        return False
    try:
        done = subprocess.run(  # noqa: S603 - an argument list of ours; the text is one argument, or none
            [program, *command.words[1:]],
            env={**os.environ, **command.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=5,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def notice_command(server: str, platform: str, environment: Mapping[str, str]) -> Command | None:
    """The command that shows on this system that a server asks; None where nobody would see it.

    The notice says who asks. It carries no link, no code and no text of the server. The attack: a name that is read as
    an option, as markup or as part of a script. So the text begins with our own word and is one argument; on Windows,
    which joins arguments into one line, it is in the environment.
    """
    text = f"You are asked by {for_line(server, limit=100)}. Open the desk with: handraise inbox"
    match platform:
        case "darwin":
            return Command(("osascript", *(word for line in _APPLE for word in ("-e", line)), text))
        case "win32":
            words = ("powershell", "-NoProfile", "-NonInteractive", "-Command", _WINDOWS)
            return Command(words, {"HANDRAISE_NOTICE": text})
        case _ if environment.get("DBUS_SESSION_BUS_ADDRESS") or _has_screen(environment):
            plain = escape(text, quote=False)  # a notice may be shown as markup, with links
            return Command(("notify-send", "--app-name=Handraise", "Handraise", "--", plain))
        case _:
            return None


def _has_screen(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))
