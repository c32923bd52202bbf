"""Links: judged on a warm process, against the bar and beside bare parsing; and a message made inert.

Every link is new: a number in its host changes, so that nobody can remember anything.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import count
from time import perf_counter
from urllib.parse import urlsplit

from ada_url import URL
from bench.measure import OURS, Bench, Turn, per_piece, progress

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
ROUNDS = 60
BAR = "bar of 100 µs"

numbers = count()


def run(bench: Bench) -> None:
    """Judge each kind of link, then show a hostile message, then start from nothing."""
    _judge_all(bench)
    shown: dict[str, Turn] = {OURS: lambda: per_piece(for_html, [(MESSAGE,)] * 100)}
    bench.compare(f"a hostile message of {len(MESSAGE)} characters, made inert for HTML", shown)
    bench.compare("a new process: import and the first international link", {OURS: _from_nothing}, rounds=5)


def _judge_all(bench: Bench) -> None:
    """All kinds in every round: the bar is a time, and the machine is slow for seconds now and then."""
    samples: dict[str, dict[str, list[float]]] = {
        title: {OURS: [], BAR: [], "ada-url, parsed only": [], "urlsplit, parsed only": []} for title in LINKS
    }
    for number in range(bench.rounds(ROUNDS)):
        progress(f"links: round {number + 1} of {bench.rounds(ROUNDS)}")
        for title, link in LINKS.items():
            taken = _turn(_judge, link), 100e-6, _turn(_parse, link), _turn(urlsplit, link)
            for name, seconds in zip(samples[title], taken, strict=True):
                samples[title][name].append(seconds)
    for title in LINKS:
        bench.record(f"{title}, judged", samples[title], bars={BAR: 1.0})


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
