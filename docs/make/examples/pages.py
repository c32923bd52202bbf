import asyncio
from dataclasses import dataclass

from mcp.server.mcpserver import MCPServer

from handraise import Declined, Handraise, Secret, ask
from handraise.pages import SecretField, SecretPage
from handraise.testing import ScriptedPerson, connect

server = Handraise().install(MCPServer("mail"))
PAGE = SecretPage("Mail password", (SecretField("password"),))


@dataclass
class Mail:
    host: str
    port: int = 993


@server.tool()
async def token() -> str:
    """Get a token, typed on a page that neither client nor model sees."""
    return str((await ask.secret("GitHub token", service="github")).or_stop("No token."))


@server.tool()
async def set_up() -> str:
    """Settings and secrets together, on one page."""
    setup = (await ask.setup("Mail", Mail, secrets=[SecretField("password")])).or_stop("No mail.")
    return f"{setup.data.host}:{setup.data.port}"


@server.tool()
async def sign() -> str:
    """Something done on another site."""
    (await ask.outside("Sign the lease", "https://sign.example/lease")).or_stop("Not signed.")
    return "Signed."


@server.tool()
async def password() -> str:
    """A page of your own making."""
    return str((await ask.page(PAGE)).or_stop("No password."))


async def main() -> None:
    for tool in ("token", "set_up", "sign", "password"):
        async with connect(server, "2025-11-25", ScriptedPerson(Declined())) as client:
            print((await client.call_tool(tool)).content[0].text)


asyncio.run(main())
key = Secret("ghp_abc")
print(key, len(key.reveal()))
