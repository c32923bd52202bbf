from pathlib import PurePosixPath

from handraise.errors import UnsafeUrl
from handraise.urls import (
    HINDRANCES,
    REASONS,
    Inspection,
    NotOpened,
    Opened,
    Reason,
    UrlPiece,
    UrlVerdict,
    dump_file_uri,
    inspect_url,
    open_url,
    parse_file_uri,
    require_safe_url,
)

link: Inspection = inspect_url("https://bank.com@evil.example/login")
verdict: UrlVerdict = link.verdict
print(verdict, link.registrable_domain)
for code in link.reasons:
    reason: Reason = REASONS[code]
    print(code, "|", reason.severity)

pieces: list[UrlPiece] = list(inspect_url("https://shop.example.com/pay").pieces)
print([piece.text for piece in pieces if piece.kind == "domain"])

try:
    require_safe_url("http://shop.example.com/pay?token=abc")
except UnsafeUrl as error:
    print(error.reasons)

opened = open_url(inspect_url("https://shop.example.com/pay"), environment={}, platform="linux")
match opened:
    case NotOpened(reason):
        print(reason, reason in HINDRANCES)
    case Opened():
        print("the browser has it")

print(parse_file_uri("file:///home/ada/My%20notes"), dump_file_uri(PurePosixPath("/home/ada")))
