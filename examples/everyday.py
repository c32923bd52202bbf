"""Six everyday questions, each as short as it can be: `handraise call -- python examples/everyday.py`

A server that deploys, opens issues, reads buckets, sends mail, reminds and books. The world around it is a few lines of
made-up data; what each tool would do is written to `done`, so that you can see when it really happens.
"""

import sys
from datetime import date, datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, Field

from handraise import Accepted, Cancelled, Declined, Handraise, ask

server = Handraise().install(MCPServer("everyday"))
done: list[str] = []

REPOSITORIES = ["ada/engine", "ada/notes", "grace/compiler", "work/notes"]
ACCOUNTS = {"4711": "Acme production (4711)", "4712": "Acme sandbox (4712)", "0815": "Private (0815)"}
CONTACTS = [f"customer-{number}@example.com" for number in range(2000)]


class Target(BaseModel):
    """Where to, and really?"""

    environment: Annotated[Literal["staging", "production"], Field(title="Deploy to")]
    confirm: Annotated[bool, Field(title="Start now?")]


@server.tool()
async def deploy(version: str) -> str:
    """Deploy a version. The person says where to."""
    match await ask(f"Deploy {version}?", Target, because="It replaces what is running there."):
        case Accepted(Target(environment=environment, confirm=True)):
            done.append(f"deployed {version} to {environment}")
            return f"{version} is on {environment}."
        case Accepted() | Declined():
            return f"The person does not want {version} deployed. Nothing was started."
        case Cancelled():
            return "The person put it aside. Nothing was started; offer it again when they are back."


@server.tool()
async def open_issue(repository: str, title: str) -> str:
    """Open an issue. When a name fits several repositories, the person says which one."""
    fits = [name for name in REPOSITORIES if repository in name.split("/")]
    if not fits:
        return f"No repository is called {repository}."
    if len(fits) > 1:  # one that fits needs no question
        question = ask.choose(f'"{title}": in which repository?', fits, if_declined="No issue is opened.")
        fits = [(await question).or_stop("The person named no repository. No issue was opened.")]
    done.append(f"issue in {fits[0]}")
    return f"Opened {title!r} in {fits[0]}."


@server.tool()
async def list_buckets() -> str:
    """List the buckets of a cloud account that the person chooses."""
    answer = await ask.choose(
        "Which account shall I look into?", ACCOUNTS, because="You are signed in to three."
    )
    account = answer.or_stop("The person chose no account. Nothing was read.")
    done.append(f"read {account}")
    return f"{ACCOUNTS[account]} has 3 buckets: backups, photos, site."


@server.tool()
async def send_newsletter(subject: str) -> str:
    """Send a mail to all contacts, after the person typed how many that are."""
    count = len(CONTACTS)  # counted now, not remembered
    typed = await ask.number(
        f'Send "{subject}" to {count:,} contacts? Type their number to go on.',
        whole=True,
        check=lambda number: number == count or f"It is {count:,} contacts. Type that number, or decline.",
        because="Mail cannot be taken back.",
        if_declined="Nothing is sent.",
        still=lambda: len(CONTACTS) == count or "The list of contacts has changed.",
    )
    typed.or_stop("The person did not agree. Nothing was sent.")
    done.append(f"mailed {count}")
    return f"Sent to {count:,} contacts."


@server.tool()
async def remind(what: str, at: datetime) -> str:
    """Remind the person, at a time that is theirs."""
    if at.tzinfo is None:  # guessing here is how people miss trains
        name = await ask.text(
            f"{at:%d %B, %H:%M}: in which time zone? For example Europe/Berlin.",
            check=lambda zone: (
                zone in available_timezones() or f"{zone} is no time zone I know. Try Asia/Tokyo."
            ),
        )
        at = at.replace(tzinfo=ZoneInfo(name.or_stop("Without a time zone there is no reminder.")))
    done.append(f"remind {at.isoformat()}")
    return f"{what}: {at.isoformat()}"


@server.tool()
async def book(room: str, on: str) -> str:
    """Book a room on a day written with slashes, as people write it where they live."""
    first, second, year = map(int, on.split("/"))
    readings = {
        f"{date(year, month, day):%d %B %Y}": date(year, month, day)
        for day, month in ((first, second), (second, first))
        if month <= 12
    }
    chosen, *others = readings
    if others:  # one that can be read in one way only needs no question
        chosen = (await ask.choose(f"{room} on {on}: which day is that?", list(readings))).or_stop(
            "Nothing is booked."
        )
    done.append(f"booked {readings[chosen].isoformat()}")
    return f"{room} is yours on {chosen}."


if __name__ == "__main__":
    if sys.stdin.isatty():
        print(
            "A server on standard input. Call it: handraise call -- python examples/everyday.py",
            file=sys.stderr,
        )
    server.run("stdio")
