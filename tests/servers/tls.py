"""TLS in front of a plain server, with a certificate that changes while it runs."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.servers.scripted import ServerThread

FAULTS = {"expired": "expired", "other host": "IP address mismatch", "unknown signer": "unable to get local issuer"}
"""Faults of a certificate, with words of OpenSSL's message."""


class TlsFront(ServerThread):
    """A TLS server that forwards connections to a port of this machine; a context manager.

    Name ``signer`` in SSL_CERT_FILE to trust it.
    """

    def __init__(self, folder: Path, target: int) -> None:
        super().__init__()
        self.signer = folder / "signer.pem"
        self._target = target
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._open: set[asyncio.StreamWriter] = set()
        self._chains = _make_chains(folder, self.signer)
        self._context.load_cert_chain(self._chains["valid"])

    def present(self, kind: str) -> None:
        """Present the certificate with this fault, or ``valid``, and close open connections."""

        def change() -> None:
            self._context.load_cert_chain(self._chains[kind])
            for writer in self._open:
                writer.transport.abort()

        self._loop.call_soon_threadsafe(change)

    async def start(self) -> Callable[[], Awaitable[object]]:
        server = await asyncio.start_server(self._forward, "127.0.0.1", 0, ssl=self._context)
        self.port = server.sockets[0].getsockname()[1]

        async def end() -> None:
            server.close()

        return end

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            await asyncio.gather(_copy(reader, to_writer), _copy(to_reader, writer))
        finally:
            self._open.discard(writer)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    target.close()


def _make_chains(folder: Path, signer: Path) -> dict[str, Path]:
    """Write a file with key and certificate of each kind, and the signer's certificate; return the files by kind."""
    now = datetime.now(UTC)
    key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _certificate("Moot test signer", key, "Moot test signer", key, now, "127.0.0.1", is_signer=True)
    signer.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    files = {
        "valid": (key, now, "127.0.0.1"),
        "expired": (key, now - timedelta(days=60), "127.0.0.1"),
        "other host": (key, now, "127.0.0.2"),
        "unknown signer": (other, now, "127.0.0.1"),
    }
    chains = {}
    for kind, (signing, start, host) in files.items():
        own = ec.generate_private_key(ec.SECP256R1())
        issuer = "Moot test signer" if signing is key else "Somebody else"
        leaf = _certificate("server", own, issuer, signing, start, host)
        chains[kind] = folder / f"{kind.replace(' ', '-')}.pem"
        chains[kind].write_bytes(
            own.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + leaf.public_bytes(serialization.Encoding.PEM)
        )
    return chains


def _certificate(
    name: str,
    own: ec.EllipticCurvePrivateKey,
    issuer: str,
    signing: ec.EllipticCurvePrivateKey,
    start: datetime,
    host: str,
    *,
    is_signer: bool = False,
) -> x509.Certificate:
    """Return a certificate that is valid for the 30 days from a day before ``start``."""
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - timedelta(days=1))
        .not_valid_after(start + timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=is_signer, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
    )
    if is_signer:
        # The signer's key may sign certificates and revocation lists.
        usage = x509.KeyUsage(*(False,) * 5, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
    else:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))]), critical=False)
    return builder.sign(signing, hashes.SHA256())
