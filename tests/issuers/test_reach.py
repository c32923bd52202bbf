"""Where requests may go: nobody's own network, whatever name leads there."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from handraise.errors import SetupError
from handraise.issuers.reach import ANYWHERE, PUBLIC, Reach

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W8")]


@pytest.mark.parametrize(
    "url",
    [
        "http://1.1.1.1/keys",
        "http://localhost/keys",
        "https://127.0.0.1/keys",
        "https://localhost/keys",
        "https://10.0.0.1/keys",
        "https://172.16.3.4/keys",
        "https://192.168.1.1/keys",
        "https://100.64.0.1/keys",
        "https://169.254.169.254/latest/meta-data",
        "https://0.0.0.0/keys",
        "https://224.0.0.1/keys",
        "https://2130706433/keys",
        "https://0x7f.1/keys",
        "https://[::1]/keys",
        "https://[fd00::1]/keys",
        "https://[fe80::1%25lo]/keys",
        "https://[::ffff:10.0.0.1]/keys",
        "https://[::ffff:127.0.0.1]/keys",
        "https://[::]/keys",
        "https://user@1.1.1.1/keys",
        "https://1.1.1.1:port/keys",
        "https://[1.1.1.1/keys",
        "file:///etc/passwd",
        "",
    ],
)
async def test_a_shared_gateway_calls_no_private_network_and_nothing_without_https(url: str) -> None:
    with pytest.raises(SetupError):
        await PUBLIC.pin(url)


async def test_a_public_address_is_pinned() -> None:
    assert await PUBLIC.pin("https://1.1.1.1/keys") == "1.1.1.1"
    assert await PUBLIC.pin("https://[2606:4700:4700::1111]/keys") == "2606:4700:4700::1111"


async def test_a_private_network_is_called_where_its_owner_says_so() -> None:
    reach = Reach(public_only=True, unsafe_networks=(ip_network("10.1.0.0/16"),))
    assert await reach.pin("https://10.1.2.3/keys") == "10.1.2.3"
    with pytest.raises(SetupError):
        await reach.pin("https://10.2.2.3/keys")


async def test_one_person_alone_may_call_their_own_computer_but_nothing_else_without_https() -> None:
    assert await ANYWHERE.pin("http://127.0.0.1:8000/keys") is None
    assert await ANYWHERE.pin("https://10.0.0.1/keys") is None
    with pytest.raises(SetupError):
        await ANYWHERE.pin("http://10.0.0.1/keys")
