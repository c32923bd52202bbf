"""Links: judged on a warm process, against the bar and beside bare parsing; and a message made inert.

Every link is new: a number in its host changes, so that nobody can remember anything.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from time import perf_counter
from urllib.parse import urlsplit

from ada_url import URL
from bench.measure import OURS, Bench, Turn, per_piece

from handraise.display import for_html
from handraise.urls import Inspection, inspect_url

LINKS = {
    "an ordinary link": "https://login{n}.example.com/start?eid=1f0a&flow=drive",
    "a permission page": (
        "https://acme{n}.okta.com/oauth2/default/v1/authorize?client_id=0oa1&response_type=code&scope=openid"
        "&redirect_uri=https%3A%2F%2Fmcp.example.com%2Fcb&state=s&nonce=n&code_challenge_method=S256"
    ),
    "an unknown site": "https://www.some-vendor{n}.example/connect?next=%2Fdone",
    "an imitation": "https://accounts.google.com.login{n}.example/signin?email=alice%40example.org",
    "an international name": "https://bücher{n}.example/",
    "a look-alike": "https://pаypal{n}.com/",
}
"""The last two have letters beyond ASCII."""
MESSAGE = (
    "Please confirm the transfer of 2,000 € to Zoë.\nReference: \u202efdp.ecioofni\u202c \x1b[31m!\x1b[0m "
    * 5
)
LINKS_AT_ONCE = 200

numbers = count()


def run(bench: Bench) -> None:
    """Judge each kind of link, then show a hostile message, then start from nothing."""
    for title, link in LINKS.items():
        turns: dict[str, Turn] = {
            OURS: partial(_turn, _judge, link),
            "bar of 100 µs": lambda: 100e-6,
            "ada-url, parsed only": partial(_turn, _parse, link),
            "urlsplit, parsed only": partial(_turn, urlsplit, link),
        }
        bench.compare(f"{title}, judged", turns, bars={"bar of 100 µs": 1.0})
    shown: dict[str, Turn] = {OURS: lambda: per_piece(for_html, [(MESSAGE,)] * 100)}
    bench.compare(f"a hostile message of {len(MESSAGE)} characters, made inert for HTML", shown)
    bench.compare("a new process: import and the first international link", {OURS: _from_nothing}, rounds=5)


def _turn(work: Callable[[str], object], link: str) -> float:
    return per_piece(work, [(link.format(n=next(numbers)),) for _ in range(LINKS_AT_ONCE)])


def _judge(url: str) -> Inspection:
    return inspect_url(url, server_host="mcp.example.com")


def _parse(url: str) -> tuple[str, str]:
    parsed = URL(url)
    return parsed.href, parsed.hostname


def _from_nothing() -> float:
    program = "from handraise.urls import Inspection, inspect_url; inspect_url('https://bücher.example/')"
    started = perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return perf_counter() - started
