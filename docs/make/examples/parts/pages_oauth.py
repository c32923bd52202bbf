from mcp.server.mcpserver import MCPServer

from handraise import Handraise, ask
from handraise.pages import Pages
from handraise.pages.oauth import Account, ConnectPage, Endpoints, FromVariable, SignInAt, Token

calendar = Account(
    "Calendar",
    "tea-server",
    endpoints=Endpoints("https://cal.example/authorize", "https://cal.example/token"),
    client_secret=FromVariable("CALENDAR_SECRET"),
    scopes={"events.read": "See your appointments"},
)
sign_in = SignInAt("https://id.example", client_id="tea-pages")  # who opens a page has to be who was asked
server = Handraise(public_url="https://tea.example", pages=Pages(sign_in=sign_in)).install(MCPServer("tea"))


@server.tool()
async def free_hours() -> str:
    """Look when the person has time."""
    token: Token = (await ask.connect(calendar)).or_stop()
    return f"asked with {token}"  # token.reveal() is for the request itself


print(ConnectPage(calendar).account.name)
