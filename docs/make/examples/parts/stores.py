import tempfile
from pathlib import Path

from mcp.server.mcpserver import MCPServer

from handraise import Handraise
from handraise.stores import MemoryStore, SqliteStore

Handraise(store=MemoryStore()).install(MCPServer("tea"))  # what waits ends with the process

with tempfile.TemporaryDirectory() as folder:
    store = SqliteStore(Path(folder) / "tea.db", keys=["k" * 32])  # what waits outlives it
    server = Handraise(store=store).install(MCPServer("tea"))
print(server.name)
