"""A home in which everything is there that the documents' examples speak of, and what their names stand for."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.docs.shell import Shell
from tests.ledger.examples import ABOUT, fill

from handraise.ledger import Ledger, Principal
from handraise.questions import Person
from handraise.stores import SqliteStore
from handraise.vault import Vault
from handraise.vault.keys import KeyFile, new_key

SERVER = '''
from handraise import Handraise, ask
from mcp.server.mcpserver import MCPServer

server = Handraise().install(MCPServer("greeter", version="1", log_level="WARNING"))

@server.tool()
async def greet(name: str = "you") -> str:
    """Greet somebody by name."""
    return f"Hello {(await ask.text('What is your name?')).or_stop()}"

@server.tool()
async def sort() -> str:
    """Sort the files of the folders."""
    return ", ".join(root.name or root.uri for root in await ask.roots())

@server.tool()
async def delete_note(title: str) -> str:
    """Delete a note for good."""
    return f"Deleted {title}."

if __name__ == "__main__":
    server.run()
'''
SERVED = """
import socket, uvicorn
from server import server

with socket.create_server(("127.0.0.1", 0)) as listening:
    print(listening.getsockname()[1], flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listening])
"""
FORM = {
    "message": "Which size?",
    "requestedSchema": {"type": "object", "properties": {"size": {"type": "string", "enum": ["s", "m"]}}},
}
ANSWER = {"requestedSchema": FORM["requestedSchema"], "content": {"size": "s"}}
CLIENT = {"mcpServers": {"notes": {"command": "npx", "args": ["-y", "notes-server"]}}}
CODEX = '[mcp_servers.github]\ncommand = "npx"\nargs = ["-y", "github-server"]\n'
FILES = {
    "server.py": SERVER,
    "greeter.py": SERVER,
    "notes.py": SERVER,
    "tea.py": SERVER,
    "served.py": SERVED,
    "src/server.py": SERVER,
    "answers.json": json.dumps([{"action": "accept", "content": {"answer": "Ada"}}]),
    "question.json": json.dumps(FORM),
    "questions.jsonl": json.dumps(FORM) + "\n",
    "answer.json": json.dumps(ANSWER),
    "answers.jsonl": json.dumps(ANSWER) + "\n",
    "links.jsonl": '{"url": "https://example.com/"}\n',
    "servers.json": json.dumps(CLIENT),
    ".cursor/mcp.json": json.dumps(CLIENT),
    ".config/Claude/claude_desktop_config.json": json.dumps(CLIENT),
    ".codex/config.toml": CODEX,
    ".mcp.json": json.dumps(CLIENT),
    "Notes/Plan.md": "# Plan\n",
}


class Stage(Shell):
    """The home, with a server at `url`; an example's names are replaced by what is here."""

    url = ""

    def prepare(self, command: str) -> None:
        """Have all as the command wants it, whatever ran before: examples run in any order."""
        if " vault " in command:
            self.keep_secrets()
        if " policy " in command:
            self.require("handraise policy block notes")
        if " people " in command:
            (self.folder / "people.json").unlink(missing_ok=True)
            if " add " not in command:
                self.require("handraise gateway people add alice --file people.json")

    def require(self, command: str) -> None:
        """Run what has to succeed before anything is tried."""
        done = self.run(command)
        assert done.returncode == 0, done.stderr

    def keep_secrets(self) -> None:
        """A vault in which somebody has a secret, whatever an example did to the one before."""
        store, keys, old = self.folder / "notes.db", KeyFile(self.folder / "key"), new_key()
        for file in self.folder.glob("notes.db*"):
            file.unlink()
        keys.save([old])
        self.environment |= {"OLD": old.hex(), "NEW": new_key().hex()}
        asyncio.run(_keep(store, keys))

    def real(self, command: str) -> str:
        """The command with what its placeholders, and its addresses of elsewhere, stand for."""
        replaced = {
            r"COMMAND…|(?<=--name tea --)$": " python server.py",
            r"http://127\.0\.0\.1:8000/mcp|https://mcp\.example\.com/mcp|\bURL\b": self.url,
            r"\bFILE\b": "servers.json",
            r"\bCOMMAND(?= --help)": "call",
            r"127\.0\.0\.1:8765(?!/)": "127.0.0.1:0",
            r"/home/ada|/media/stick": str(self.folder),
            r"(?<=--record )4711": "3",
        }
        for pattern, meant in replaced.items():
            command = re.sub(pattern, meant.replace("\\", r"\\"), command)
        return f"HANDRAISE_STORE=notes.db {command}" if " vault " in command else command


@contextmanager
def set_up(folder: Path, programs: Path) -> Iterator[Stage]:
    """The stage, and its server, as long as they are needed."""
    stage = Stage(folder, programs)
    stage.add_files(FILES)
    stage.add_program("npx", "exec python server.py")
    stage.environment |= {
        "HANDRAISE_VAULT_KEY_FILE": str(folder / "key"),
    }
    stage.keep_secrets()
    asyncio.run(_record(folder / ".local" / "share" / "handraise" / "ledger.db"))
    stage.require("handraise ledger checkpoint > mail.txt")
    (folder / "mail").mkdir()
    (folder / "mail.txt").rename(folder / "mail" / "checkpoint.txt")
    serving = subprocess.Popen(
        ["python", "served.py"], cwd=folder, env=stage.environment, stdout=subprocess.PIPE, text=True
    )
    with serving:
        assert serving.stdout is not None
        try:
            stage.url = f"http://127.0.0.1:{int(serving.stdout.readline())}/mcp"
            yield stage
        finally:
            serving.terminate()


async def _record(path: Path) -> None:
    """Five questions that alice answered."""
    ledger = Ledger.at(path, keeping="all")
    await fill(ledger, 5, about=replace(ABOUT, principal=Principal("", "alice", "system")))
    await ledger.aclose()


async def _keep(path: Path, keys: KeyFile) -> None:
    store = SqliteStore(path)
    ann = Person("https://id.example", "ann", "token")
    await Vault(store.secrets, lambda: keys).keep(ann, "github", {"secret": "x"}, seconds=3600)
    await store.aclose()
