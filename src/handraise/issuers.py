"""Requests to authorization servers: JSON from the asked address only, trusted signatures, and a token's audience.

URLs from outsiders may lead to public addresses only. The attack (server-side request forgery): an outsider names an
address of a machine that only we can reach.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

import httpx2 as httpx

from handraise.errors import AccountError, SetupError
from handraise.urls.network import is_public
from handraise.urls.parse import ParsedUrl, parse_url, read_written

_THIS_COMPUTER: Final = ("127.0.0.1", "localhost", "[::1]")
_LOOPBACK: Final = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_PLAIN: Final = re.compile(r"[!$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]+")
"""The characters of a URL (RFC 3986) but for `#`: no blanks, no control characters, nothing that needs encoding."""

_LONGEST: Final = 4096
"""Characters of a URL. Errors and the log repeat it."""

Network: TypeAlias = IPv4Network | IPv6Network
Resolve: TypeAlias = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""The addresses of a host. OSError when there are none."""


async def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """The addresses of a host."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """Which addresses may be called."""

    public_only: bool = False
    """True for URLs from outsiders. False for the author's own URLs."""
    unsafe_networks: tuple[Network, ...] = ()
    """Networks that may be called although they are private."""
    own: str = ""
    """A server that the user configured. Any address on the same host and port may be called."""
    resolve: Resolve = field(default=resolve_host, repr=False)

    def for_server(self, url: str) -> AllowedAddresses:
        """The same for a configured server, which may name its own host, or this computer if it runs here."""
        link = _parse(url)
        local = () if link is None or link.host not in _THIS_COMPUTER else _LOOPBACK
        return replace(self, own=url, unsafe_networks=(*self.unsafe_networks, *local))

    async def addresses(self, url: str) -> tuple[str, ...] | None:
        """The addresses to connect to for a URL, looked up once; None where that is left to the connection.

        A name that is looked up a second time could lead elsewhere then (DNS rebinding). SetupError when the URL is
        odd, when somebody could listen on the way there, or when one of the addresses may not be called.
        """
        link = _require(url)
        if not self.public_only or (self.own and _is_same_place(link, _parse(self.own))):
            return None
        try:
            found = await self.resolve(link.host, int(link.parts.port.removeprefix(":") or 443))
        except OSError:
            raise SetupError(f"{link.host} is not known") from None
        plain = link.parts.scheme == "http:"
        if not found or not all(self._may_call(address, plain=plain) for address in found):
            raise SetupError(
                f"{link.host} is inside a private network, where a gateway does not go because a server says so. If "
                "the server that you call is to use it, name the network with --unsafe-network"
            )
        return found

    def _may_call(self, address: str, *, plain: bool) -> bool:
        known = ip_address(address.partition("%")[0])
        if any(known in network for network in self.unsafe_networks):
            return True
        return is_public(known) and not plain


ANYWHERE: Final = AllowedAddresses()
PUBLIC: Final = AllowedAddresses(public_only=True)


def parse_networks(given: Iterable[str]) -> tuple[Network, ...]:
    """Networks as people write them. SetupError for what is none."""
    try:
        return tuple(ip_network(each) for each in given)
    except ValueError as error:
        raise SetupError(f"a network is written like 10.1.0.0/16: {error}") from None


def require_secure_url(url: object) -> str:
    """The URL, if it uses https or leads to this computer. SetupError otherwise.

    It is read strictly, so that every parser finds the same host in it: no blanks, control characters, backslashes or
    user names, and the host is written as it is called.
    """
    _require(url)
    return str(url)


def is_this_computer(url: str) -> bool:
    """Whether a URL leads to this computer by name or number."""
    link = _parse(url)
    return link is not None and link.host in _THIS_COMPUTER


def shortened(value: object) -> str:
    """A value of an outsider for an error and the log. The attack: a name of a megabyte in every error."""
    return repr(value[:_SHOWN] if isinstance(value, str) else value)[: 2 * _SHOWN]


_SHOWN: Final = 200


def site_of(url: str) -> str:
    """The registrable domain of a URL, or its host if it has none."""
    link = _require(url)
    return link.domain or link.host


def host_of(url: str) -> str:
    """The host and port of a URL, as a person reads them."""
    link = _require(url)
    return f"{link.host}{link.parts.port}"


def _require(url: object) -> ParsedUrl:
    link = _parse(url)
    if link is None:
        raise SetupError(f"{shortened(url)} is no address of an authorization server")
    if link.parts.scheme != "https:" and not (link.parts.scheme == "http:" and link.host in _THIS_COMPUTER):
        raise SetupError(f"an authorization server is reached by https only, not at {shortened(url)}")
    return link


def _parse(url: object) -> ParsedUrl | None:
    if not isinstance(url, str) or len(url) > _LONGEST or not _PLAIN.fullmatch(url):
        return None
    written = read_written(url)
    link = parse_url(written)
    if link is None or link.kind == "none" or link.parts.userinfo or written.slashes != "//":
        return None
    empty_label = link.kind == "name" and "" in link.host.split(".")
    return None if empty_label or written.host.lower() != link.host else link


def _is_same_place(one: ParsedUrl, other: ParsedUrl | None) -> bool:
    return other is not None and (one.parts.scheme, one.host, one.parts.port) == (
        other.parts.scheme,
        other.host,
        other.parts.port,
    )


_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


def resource_of(url: str) -> str:
    """The resource of a server's tokens: its URL without a fragment, scheme and host in lower case."""
    parts = urlsplit(url)
    return parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), fragment="").geturl()


def metadata_urls(url: str, told: str | None) -> list[str]:
    """The URLs of a server's metadata, in order: the given one, the one for its path, the one for its host."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    for_path = [f"{origin}{_WELL_KNOWN}{parts.path}"] if parts.path.strip("/") else []
    return [*([told] if told else []), *for_path, f"{origin}{_WELL_KNOWN}"]


def covers(resource: str, url: str) -> bool:
    """Whether a token for `resource` is one for `url` too: the same origin, and a path at or below it."""
    wide, narrow = urlsplit(resource), urlsplit(url)
    return _origin(wide) == _origin(narrow) and _folder(narrow.path).startswith(_folder(wide.path))


def _origin(parts: SplitResult) -> tuple[str, str]:
    return parts.scheme.lower(), parts.netloc.lower()


def _folder(path: str) -> str:
    """With a slash at its end, so that /api does not cover /api2."""
    return path if path.endswith("/") else f"{path}/"


ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "Ed25519",
    "EdDSA",
)
"""Signatures that only the issuer can make: no `none`, and none with a secret that two parties have."""
_TYPES: Final = ("RSA", "EC", "OKP")


def verifying_keys(published: Mapping[str, Any], algorithm: object) -> list[dict[str, Any]]:
    """The keys of a JSON Web Key Set that may verify a signature made by this algorithm (RFC 7517, section 4).

    A key for encryption or another algorithm does not count: others may have its secret half, or get it applied to
    their data.
    """
    keys = published.get("keys")
    if algorithm not in ALGORITHMS or not isinstance(keys, list):
        return []
    return [key for key in keys if isinstance(key, dict) and _may_verify(key, algorithm)]


def _may_verify(key: Mapping[str, Any], algorithm: object) -> bool:
    operations = key.get("key_ops")
    return (
        key.get("kty") in _TYPES
        and key.get("use") in (None, "sig")
        and (operations is None or (isinstance(operations, list) and "verify" in operations))
        and key.get("alg") in (None, algorithm)
    )


_PATIENCE: Final = 10.0
_WHOLE: Final = 30.0
"""Seconds for a whole response. The attack: one byte of it comes every nine seconds."""
_MOST_BYTES: Final = 1024 * 1024
_MOST_ADDRESSES: Final = 4


class NotThere(AccountError):
    """There is no such document."""


async def fetch(named: object, reach: AllowedAddresses = ANYWHERE) -> dict[str, Any]:
    """The JSON object at an address. AccountError for a bad address too, because a document may name anything."""
    try:
        url = require_secure_url(named)
    except SetupError as error:
        raise AccountError(str(error)) from None
    status, body = await _request("GET", url, {"accept": "application/json"}, None, reach)
    if status in (404, 405, 410):
        raise NotThere(f"{url} has no document")
    if status != 200:
        raise AccountError(f"{url} answered with status {status}")
    return _object(url, body)


async def post(
    url: str, headers: Mapping[str, str], body: str, reach: AllowedAddresses = ANYWHERE
) -> tuple[int, dict[str, Any]]:
    """Post a form or JSON; returns the status and the JSON object."""
    status, answer = await _request("POST", url, headers, body.encode("ascii"), reach)
    return status, _object(url, answer) if answer.strip() else {}


async def _request(
    method: str, url: str, headers: Mapping[str, str], content: bytes | None, reach: AllowedAddresses
) -> tuple[int, bytes]:
    try:
        async with asyncio.timeout(_WHOLE), _client(reach) as client:
            addresses = await reach.addresses(url)
            response = await _send(client, method, url, headers, content, addresses)
            body = bytearray()
            async for chunk in response.aiter_raw():  # a few packed bytes could be gigabytes
                body += chunk
                if len(body) > _MOST_BYTES:
                    raise AccountError(f"{url} answers without end")
    except SetupError as error:
        raise AccountError(str(error)) from None
    except TimeoutError:
        raise AccountError(f"{url} takes too long to answer") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise AccountError(f"{url} cannot be reached: {type(error).__name__}") from None
    return response.status_code, bytes(body)


async def _send(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    headers: Mapping[str, str],
    content: bytes | None,
    addresses: tuple[str, ...] | None,
) -> httpx.Response:
    """Send to the first address that accepts a connection: a computer may have no IPv6."""
    *others, last = addresses[:_MOST_ADDRESSES] if addresses else (None,)
    for address in others:
        with contextlib.suppress(httpx.ConnectError, httpx.ConnectTimeout):
            return await client.send(_addressed(method, url, headers, content, address), stream=True)
    return await client.send(_addressed(method, url, headers, content, last), stream=True)


def _client(reach: AllowedAddresses) -> httpx.AsyncClient:
    """A client without the environment's proxy if addresses are checked: a proxy would resolve the name again."""
    trusted = _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return httpx.AsyncClient(
        timeout=_PATIENCE, follow_redirects=False, verify=trusted, trust_env=not reach.public_only
    )


@lru_cache(maxsize=4)
def _trusted(file: str | None, folder: str | None) -> ssl.SSLContext:
    """The trusted certificates, read once: the system's list is long."""
    return httpx.create_ssl_context()


def _addressed(
    method: str, url: str, headers: Mapping[str, str], content: bytes | None, address: str | None
) -> httpx.Request:
    """A request to an address. The server and its certificate are still checked by the name."""
    named = httpx.URL(url)
    if address is None:
        return httpx.Request(method, named, headers=dict(headers), content=content)
    return httpx.Request(
        method,
        named.copy_with(host=address),
        headers={**headers, "host": named.netloc.decode("ascii")},
        content=content,
        extensions={"sni_hostname": named.raw_host.decode("ascii")},
    )


def _object(url: str, body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise AccountError(f"{url} answered with something that is no JSON object")
    return found
