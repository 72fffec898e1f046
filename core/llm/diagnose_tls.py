"""Diagnosis of unreachable servers whose address begins with the wrong one of http:// and https://."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from urllib.parse import urlsplit

import aiohttp

from core import errors
from core.llm.connections import Connection

LOOK_SECONDS = 2.0
"""Longest wait of each check in seconds, while a person waits."""

_SWAPPED = {"http": "https", "https": "http"}


async def explain_tls_error(error: errors.ModelError, place: Connection) -> errors.ModelError:
    """Return the error, or a final one if the address begins with the wrong of http:// and https://.

    No part of a request and no key is sent.
    """
    parts = urlsplit(place.base_url)
    secure = parts.scheme == "https"
    if parts.scheme not in _SWAPPED or not isinstance(error, errors.Unreachable if secure else errors.CutStream):
        return error
    host, port = parts.hostname or "", parts.port or (443 if secure else 80)
    here, other = f"{place.name} at {place.base_url}", _SWAPPED[parts.scheme] + place.base_url[len(parts.scheme) :]
    try:
        if secure:
            if plainly := await _answers_plainly(host, port):
                return errors.OtherProtocol(f"{here} speaks plain HTTP.", f"Enter the address as {other}.")
            if plainly is None and isinstance(error.__cause__, aiohttp.ConnectionTimeoutError):
                return errors.OtherProtocol(
                    f"{here} accepts connections and then does not begin TLS.",
                    f"If it speaks plain HTTP, enter the address as {other}.",
                )
        elif await _begins_tls(host, port):
            return errors.OtherProtocol(f"{here} speaks HTTPS.", f"Enter the address as {other}.")
    except (OSError, ValueError, TimeoutError):
        pass
    return error


async def _answers_plainly(host: str, port: int) -> bool | None:
    """Return True if plain HTTP is answered, None if connections are accepted without any data."""
    async with asyncio.timeout(LOOK_SECONDS):
        reader, writer = await asyncio.open_connection(host, port)
    with contextlib.closing(writer):
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                said = await reader.read(5)
        except TimeoutError:
            return None
        return said == b"HTTP/" if said else None


async def _begins_tls(host: str, port: int) -> bool:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent over it
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLError as error:
        # Only a TLS server sends an alert, for example to request a client certificate.
        return "ALERT" in (error.reason or "")
    writer.close()
    return True
