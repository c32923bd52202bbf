"""A certificate authority of the test's own, and servers of this computer that it vouches for."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.server.peers import free_port

from handraise.issuers import AllowedAddresses

THIS_COMPUTER = AllowedAddresses(
    public_only=True, unsafe_networks=(ip_network("127.0.0.0/8"), ip_network("::1/128"))
)
"""As a shared gateway reaches out, but for a server of the test's own."""


@dataclass(frozen=True, slots=True)
class Vouched:
    """The files of a server for `localhost`, and of the authority that vouches for it."""

    authority: Path
    certificate: Path
    key: Path


def vouch(folder: Path) -> Vouched:
    """Make an authority, and a certificate by it."""
    root, root_key = _certificate("The test's own authority", None)
    leaf, leaf_key = _certificate("localhost", (root, root_key))
    made = Vouched(folder / "authority.pem", folder / "certificate.pem", folder / "key.pem")
    made.authority.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    made.certificate.write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        leaf_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return made


_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)
"""What an authority's key is for. From Python 3.13 on one has to say so."""


def _certificate(
    name: str, by: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signer = key if by is None else by[1]
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if by is None else by[0].subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    if by is None:
        made = made.add_extension(_SIGNS, critical=True)
    else:
        names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return made.sign(signer, hashes.SHA256()), key


class _Server(uvicorn.Server):
    def install_signal_handlers(self) -> None:
        pass


@asynccontextmanager
async def served_by_tls(
    app: Any, vouched: Vouched, lifespan: Any = "off", host: str = "localhost"
) -> AsyncIterator[str]:
    """An application on a port of this computer; its https address, without a path."""
    port = free_port()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="error",
        lifespan=lifespan,
        timeout_graceful_shutdown=1,
        ssl_certfile=str(vouched.certificate),
        ssl_keyfile=str(vouched.key),
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        assert not serving.done()
        await asyncio.sleep(0.01)
    try:
        yield f"https://localhost:{port}"
    finally:
        server.should_exit = True
        await serving
