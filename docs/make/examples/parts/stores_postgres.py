from mcp.server.mcpserver import MCPServer

from handraise import Handraise
from handraise.stores.postgres import PostgresStore

store = PostgresStore("postgresql://db.internal/handraise", keys=["k" * 32])  # connects when it is first used
server = Handraise(store=store).install(MCPServer("tea"))
print(server.name)
