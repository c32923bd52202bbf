"""Where requests may go: nobody's own network, whatever name leads there, and whatever the URL looks like."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from handraise.errors import SetupError
from handraise.issuers import ANYWHERE, PUBLIC, AllowedAddresses, require_secure_url

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W8")]


def known(**names: str) -> AllowedAddresses:
    """Public addresses only, with a resolver that knows these names (`_` stands for a dot)."""

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return tuple(names[host.replace(".", "_")].split())

    return AllowedAddresses(public_only=True, resolve=resolve)


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
        "https://[::127.0.0.1]/keys",
        "https://[64:ff9b::127.0.0.1]/keys",
        "https://[64:ff9b::a9fe:a9fe]/keys",
        "https://[64:ff9b:1::1.1.1.1]/keys",
        "https://[fec0::1]/keys",
        "https://[2002:7f00:1::1]/keys",
        "https://[2002:a00:1::1]/keys",
        "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/keys",
        "https://[2001:db8::1]/keys",
        "file:///etc/passwd",
        "",
    ],
)
async def test_a_gateway_calls_no_private_network_and_nothing_without_https(url: str) -> None:
    with pytest.raises(SetupError):
        await PUBLIC.addresses(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://user@1.1.1.1/keys",
        "https://user:password@id.example/keys",
        "https://1.1.1.1:port/keys",
        "https://[1.1.1.1/keys",
        "https:///keys",
        "https:/id.example/keys",
        "https:\\\\id.example/keys",
        "https://id.example\\@evil.example/keys",
        "https://id.example/keys#part",
        "https://id.example#",
        " https://id.example/keys",
        "https://id.example/keys ",
        "https://id.exam\nple/keys",
        "https://id.example/ke\rys",
        "https://id.example/ke\tys",
        "https://id.example/ke ys",
        "https://id exam.example/keys",
        "https://id.example\x00/keys",
        "https://id.exam\u200bple/keys",
        "https://\u0456d.example/keys",
        "https://id%2eexample/keys",
        "https://id.example%00/keys",
        "https://id..example/keys",
        "https://.example/keys",
        "https:// /keys",
        "https://",
        "ftp://id.example",
        "javascript:alert(1)",
        "//id.example/keys",
        "id.example",
    ],
)
def test_an_odd_address_is_none(url: str) -> None:
    with pytest.raises(SetupError):
        require_secure_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://id.example",
        "https://ID.example/Path?a=b%20c",
        "https://id.example:8443/keys",
        "https://xn--bcher-kva.example/",
        "https://[2606:4700:4700::1111]/keys",
        "http://127.0.0.1:8000/keys",
        "http://localhost/",
        "http://[::1]:80/",
    ],
)
def test_a_usual_address_stays_as_it_is(url: str) -> None:
    assert require_secure_url(url) == url


async def test_a_public_address_is_pinned() -> None:
    assert await PUBLIC.addresses("https://1.1.1.1/keys") == ("1.1.1.1",)
    assert await PUBLIC.addresses("https://[2606:4700:4700::1111]/keys") == ("2606:4700:4700::1111",)


@pytest.mark.parametrize(
    "private", ["127.0.0.1", "1.1.1.1 10.0.0.1", "64:ff9b::7f00:1", "fec0::1", "fe80::1%lo"]
)
async def test_a_name_that_leads_inside_is_not_called_even_if_it_leads_outside_too(private: str) -> None:
    with pytest.raises(SetupError, match="private network"):
        await known(id_example=private).addresses("https://id.example/keys")


async def test_a_name_is_looked_up_once() -> None:
    """DNS rebinding: the second answer could lead inside."""
    answers = iter(["1.1.1.1 2606:4700:4700::1111"])

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return tuple(next(answers).split())

    reach = AllowedAddresses(public_only=True, resolve=resolve)
    found = await reach.addresses("https://id.example/keys")
    assert found == ("1.1.1.1", "2606:4700:4700::1111")


async def test_a_name_that_nobody_knows_is_told() -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        raise OSError

    with pytest.raises(SetupError, match=r"id\.example is not known"):
        await AllowedAddresses(public_only=True, resolve=resolve).addresses("https://id.example/keys")


async def test_a_private_network_is_called_where_its_owner_says_so() -> None:
    reach = AllowedAddresses(public_only=True, unsafe_networks=(ip_network("10.1.0.0/16"),))
    assert await reach.addresses("https://10.1.2.3/keys") == ("10.1.2.3",)
    with pytest.raises(SetupError):
        await reach.addresses("https://10.2.2.3/keys")


async def test_an_author_may_name_a_service_of_their_own_network_but_nothing_without_https() -> None:
    assert await ANYWHERE.addresses("http://127.0.0.1:8000/keys") is None
    assert await ANYWHERE.addresses("https://10.0.0.1/keys") is None
    with pytest.raises(SetupError):
        await ANYWHERE.addresses("http://10.0.0.1/keys")
