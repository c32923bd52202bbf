"""What a browser posts is read with limits, and believed with a token."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from handraise.site.posted import MOST_BYTES, first, has_token, read_posted


def posted(*chunks: bytes, kind: str = "application/x-www-form-urlencoded") -> Request:
    parts = list(chunks)

    async def receive() -> Any:
        body = parts.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(parts)}

    scope = {"type": "http", "method": "POST", "headers": [(b"content-type", kind.encode())]}
    return Request(scope, receive)


async def test_a_form_is_read_whole_with_its_blanks() -> None:
    values = await read_posted(posted(b"a=1&a=2&b=", b"&c=%C3%A9+x"))
    assert values == {"a": ["1", "2"], "b": [""], "c": ["é x"]}
    assert first(values, "a") == "1"
    assert first(values, "none") == ""


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (posted(b"{}", kind="application/json"), 415),
        (posted(b"a=" + b"x" * MOST_BYTES), 413),
        (posted(*[b"x" * 1024] * (MOST_BYTES // 1024 + 1), b"never read"), 413),
        (posted(b"&".join([b"a=1"] * 5001)), 400),
        (posted(b"a=%FF"), 400),
        (posted("a=é".encode()), 400),
    ],
)
async def test_what_is_no_form_or_too_much_is_refused(request_: Request, status: int) -> None:
    with pytest.raises(HTTPException) as refused:
        await read_posted(request_)
    assert refused.value.status_code == status


@pytest.mark.parametrize("token", ["", "wrong", "é", "\udcff"])
def test_only_the_pages_own_token_counts(token: str) -> None:
    assert has_token({"csrf": ["right"]}, "right")
    assert not has_token({"csrf": [token]}, "right")
    assert not has_token({}, "right")
