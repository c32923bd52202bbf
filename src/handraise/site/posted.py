"""What a browser posted, read with limits."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

MOST_BYTES = 512 * 1024
_MOST_VALUES = 5000

Posted = dict[str, list[str]]


async def read_posted(request: Request) -> Posted:
    """The values of a form that was posted. Too many bytes or values are refused while they arrive."""
    if (
        request.headers.get("content-type", "").partition(";")[0].strip()
        != "application/x-www-form-urlencoded"
    ):
        raise HTTPException(415, "This is not a form.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413, "This is more than can be taken here.")
    try:
        return parse_qs(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_VALUES, errors="strict"
        )
    except ValueError:
        raise HTTPException(400, "This form cannot be read.") from None


def first(posted: Posted, name: str) -> str:
    """The value of a control, empty when there is none."""
    return posted.get(name, [""])[0]


def has_token(posted: Posted, csrf: str) -> bool:
    """Whether the page that posted was one of ours, made for this browser."""
    return hmac.compare_digest(first(posted, "csrf").encode("utf-8", "surrogatepass"), csrf.encode())
