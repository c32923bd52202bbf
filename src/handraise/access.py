"""Which programs of this computer may reach a desk.

The attack: a model has a shell. Its programs run as the person's own user, see the arguments of every program, and can
make a terminal of their own. Other users of the computer see those arguments too. So a desk looks at the process at the
other end of each connection:

- A process of another user is refused.
- A process of the client's family is refused. The family is every descendant of the client's topmost process: the
  one just below the login shell, terminal, desktop or service manager. A sibling shell, a launcher or a helper that the
  client started belongs to it. If the client has its own control group, every process in the group belongs to
  it, also one that detached itself from its parent.
- If the system hides the process, the person proves who they are: with the desk code or a passkey.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, Literal

from handraise.processes import (
    Process,
    SocketAddress,
    ancestors,
    can_tell,
    holders_of,
    holds,
    read_process,
    tcp_peer,
    unix_peer,
)

Access = Literal["own", "another_user", "client", "no_terminal", "unknown"]
"""Our knowledge about a program that comes to a desk. Only `own` gets in without a proof."""

REFUSALS: Final[Mapping[Access, str]] = MappingProxyType(
    {
        "another_user": "This desk belongs to another user of this computer.",
        "client": (
            "This desk does not open to a program that the client started. Open a terminal that the client did not "
            "start (not the one inside your editor) and run `handraise inbox` there, or answer in a browser that "
            "you started yourself."
        ),
        "no_terminal": "This desk opens to a person at a terminal only. Run `handraise inbox` in a terminal.",
        "unknown": (
            "This system does not tell which program is asking, so the desk opens with your desk code. Make one with "
            "`handraise desk code` in a terminal of your own, then start your client again."
        ),
    }
)

_MOST_REMEMBERED: Final = 1000

_SHELL_NAMES: Final = "ash bash csh dash elvish fish ksh mksh nu pwsh sh tcsh xonsh yash zsh"
_SHELLS: Final = frozenset(_SHELL_NAMES.split())
_OPTIONS_WITH_A_VALUE: Final = frozenset(
    {"--init-file", "--rcfile", "--init-command", "-C", "-o", "+o", "-O", "+O"}
)

_SERVICES: Final = """
init systemd launchd runit runsv s6-supervise s6-svscan supervisord dbus-daemon dbus-broker-lau crond cron atd login
agetty sshd sshd-session dropbear mosh-server gdm-session-wor gdm-x-session gdm-wayland-ses lightdm sddm sddm-helper
greetd ly-dm
"""
_DESKTOPS: Final = """
gnome-shell gnome-session-b gnome-session-i gnome-session-s plasmashell plasma_session startplasma-way startplasma-x11
kwin_wayland kwin_x11 ksmserver krunner kded5 kded6 xfce4-session xfce4-panel xfdesktop cinnamon cinnamon-sessio
cinnamon-launch mate-session mate-panel lxsession lxpanel lxqt-session lxqt-panel lxqt-runner budgie-panel
cosmic-session cosmic-comp cosmic-panel sway i3 Hyprland niri river labwc wayfire weston openbox fluxbox icewm awesome
bspwm dwm qtile xmonad herbstluftwm rofi wofi fuzzel xinit startx
"""
_TERMINALS: Final = """
screen SCREEN zellij dtach abduco gnome-terminal- kgx ptyxis ptyxis-agent konsole yakuake xfce4-terminal xterm urxvt
urxvtd st alacritty kitty wezterm-gui wezterm-mux-ser foot footclient ghostty tilix terminator lxterminal qterminal
mate-terminal cosmic-term
"""
_STARTERS: Final = frozenset((_SERVICES + _DESKTOPS + _TERMINALS).split()) | {"tmux: server"}
"""Programs that start other programs for the person. None of them is a client or a part of one.

A starter that is missing here makes the family larger, so that more is refused, never less.
"""


@dataclass(frozen=True, slots=True)
class Family:
    """A client and everything that it started."""

    top: tuple[int, int]
    """The key of its topmost process."""
    group: str | None
    """Its control group, if it shares it with nobody else."""

    def has(self, lineage: tuple[Process, ...]) -> bool:
        """Whether the first process of a lineage belongs to this family."""
        if any(process.key == self.top for process in lineage):
            return True
        if self.group is None or lineage[0].group is None:
            return False
        return lineage[0].group == self.group or lineage[0].group.startswith(f"{self.group}/")


def family_of(client: int) -> Family | None:
    """The family of a client; None when the system hides a part of it, or the client is not known to be one."""
    lineage = ancestors(client)
    return None if lineage is None else find_family(lineage)


def find_family(lineage: tuple[Process, ...]) -> Family | None:
    """The family of the first process of a lineage; None when that process starts others for the person."""
    if _starts_others(lineage[0]):
        return None
    for process, above in pairwise(lineage):
        if _starts_others(above) or _is_login_shell(above):
            return Family(process.key, _own_group(process, above))
    return Family(
        lineage[-1].key, None
    )  # nothing is above it, as in a container that was entered from outside


class AccessCheck:
    """Decides which programs of this computer reach one desk."""

    def __init__(self) -> None:
        self._tells = can_tell()
        self._needs_family = False
        self._families: set[Family] = set()
        self._clients: set[tuple[int, int]] = set()
        """The processes whose connections were checked, by pid and start."""
        self._user = os.getuid() if hasattr(os, "getuid") else None
        self._seen: dict[int, Access] = {}

    def add_parent(self) -> None:
        """Keep out the client that started this process, and its family. Call it first: a launcher may end soon.

        If a person starts this process in their login shell, there is no client. Then only our children are kept out.
        """
        parent = read_process(os.getppid())
        self.add_client(os.getpid() if parent is not None and _is_login_shell(parent) else os.getppid())

    def add_client(self, pid: int) -> None:
        """Keep out a client and its family. If the family is unknown, everybody needs a proof."""
        family = family_of(pid)
        if family is None:
            self._tells = False
        else:
            self._families.add(family)
        self._seen.clear()

    def dump_families(self) -> list[list[Any]] | None:
        """The excluded families, for a desk in another process; None when one is unknown."""
        return [[*each.top, each.group] for each in self._families] if self._tells else None

    def add_families(self, told: Iterable[object]) -> None:
        """Keep out the families of other desks, as `dump_families` returns them.

        If a desk does not tell, or no family is known, everybody needs a proof. Otherwise a client's child would count
        as the person's own program.
        """
        families, tells = set(self._families), can_tell()
        for each in told:
            match each:
                case list():
                    known = [_parse_family(one) for one in each]
                    families.update(family for family in known if family is not None)
                    tells = tells and None not in known
                case _:
                    tells = False
        if (families, tells) != (self._families, self._tells) or not self._needs_family:
            self._families, self._tells, self._needs_family = families, tells, True
            self._seen.clear()

    def add_client_at(self, client: SocketAddress, server: SocketAddress) -> bool:
        """Keep out the clients that hold a connection to us. False when it may be another user's."""
        owner = tcp_peer(client, server) if self._tells else None
        if owner is None or owner.user != self._user:
            return False
        if any(holds(pid, owner.inode) and _is(pid, started) for pid, started in self._clients):
            return True  # a client opens many connections, and to look into all processes takes long
        lineages = [ancestors(pid) for pid in holders_of(owner.inode)]
        families = [None if lineage is None else find_family(lineage) for lineage in lineages]
        if not families or None in families:
            return False
        self._families.update(family for family in families if family is not None)
        living = {each for each in self._clients if _is(*each)}
        self._clients = living | {lineage[0].key for lineage in lineages if lineage is not None}
        self._seen.clear()
        return True

    def of_unix_socket(self, connection: socket.socket) -> Access:
        """Identify the program at the other end of a Unix socket."""
        peer = unix_peer(connection)
        if peer is None:
            return "unknown"  # the socket's private directory keeps other users out
        if peer.user != self._user:
            return "another_user"
        process = read_process(peer.pid) if self._tells else None
        if process is None:
            return "unknown"
        return self.of_process(peer.pid) if process.has_terminal else "no_terminal"

    def of_connection(self, client: SocketAddress, server: SocketAddress) -> Access:
        """Identify the program that connected from `client` to `server`, two addresses of this computer."""
        owner = tcp_peer(client, server)
        if owner is None:
            return "unknown"
        if owner.user != self._user:
            return "another_user"
        if owner.inode in self._seen:
            return self._seen[owner.inode]
        found = self._of_holders(holders_of(owner.inode))
        if found != "unknown":  # not final: a process of the lineage may just have ended
            if len(self._seen) >= _MOST_REMEMBERED:
                self._seen.clear()
            self._seen[owner.inode] = found
        return found

    def _of_holders(self, holders: frozenset[int]) -> Access:
        """The least trusted process that holds a socket counts. A socket without a visible holder is unknown."""
        found = {self.of_process(pid) for pid in holders}
        if "client" in found:
            return "client"
        return "own" if found == {"own"} else "unknown"

    def of_process(self, pid: int) -> Access:
        """Identify a process."""
        tells = self._tells and (bool(self._families) or not self._needs_family)
        lineage = ancestors(pid) if tells else None
        if lineage is None:
            return "unknown"
        return "client" if any(family.has(lineage) for family in self._families) else "own"


def _is(pid: int, started: int) -> bool:
    """Whether this is still the process that started then. A pid is used again."""
    process = read_process(pid)
    return process is not None and process.key == (pid, started)


def _parse_family(told: object) -> Family | None:
    match told:
        case [int(pid), int(started), (str() | None) as group]:
            return Family((pid, started), group)
        case _:
            return None


def _starts_others(process: Process) -> bool:
    return process.pid == 1 or process.name in _STARTERS


def _is_login_shell(process: Process) -> bool:
    """Whether a process is a shell at which a person types: it leads the session of a terminal and runs no script."""
    if process.name not in _SHELLS or not process.has_terminal or process.session != process.pid:
        return False
    if not process.arguments:  # it just started, or hides its arguments: it may run a script
        return False
    given = iter(process.arguments[1:])
    for argument in given:
        if argument in _OPTIONS_WITH_A_VALUE:
            next(given, None)
        elif not argument.startswith(("-", "+")) or _has_command(argument):
            return False
    return True


def _has_command(argument: str) -> bool:
    """Whether an option of a shell says that a command follows, as `-c` and `-lc` do."""
    return argument.startswith("--command") or (argument[:2] != "--" and "c" in argument.lower())


def _own_group(top: Process, above: Process) -> str | None:
    """The control group of a client that has one of its own. In a container all processes share one."""
    return None if above.group is None or top.group in ("/", above.group) else top.group
