"""What is said of an exchange that failed: our own words, since foreign ones may hold addresses or keys (K5)."""

from __future__ import annotations

from http import HTTPStatus

import aiohttp
import httpx

TROUBLE = (
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.StreamError,
    # What the transport lets through as it is: bad HTTP, headers that can't be written, a closed session.
    aiohttp.ClientError,
    OSError,
    ValueError,
    RuntimeError,
)
"""Everything that an exchange is known to raise."""

_WORDS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((aiohttp.ClientConnectorCertificateError,), "has a certificate that is not trusted"),
    (
        (
            aiohttp.ClientConnectorError,
            aiohttp.ConnectionTimeoutError,
            httpx.ConnectError,
            httpx.ConnectTimeout,
        ),
        "can't be reached",
    ),
    ((aiohttp.ClientResponseError, httpx.RemoteProtocolError), "did not answer in HTTP"),
    (
        (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, httpx.NetworkError),
        "closed the connection before its answer was whole",
    ),
)
"""The first line that fits is said."""


def told_status(status: int, *, signed: bool) -> str:
    """Say what a status other than 200 means; the text completes "the tool port …"."""
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return f"redirects (HTTP {status}), and redirects are not followed"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return f"refuses our {'token or signature' if signed else 'token'} (HTTP {status})"
    return f"answered with HTTP status {status}"


def told_trouble(error: Exception) -> str:
    """Say what went wrong in an exchange; the text completes "the tool port …"."""
    # The transport maps aiohttp's errors to a few of httpx's and keeps the telling one as the cause.
    origin = error.__cause__ if isinstance(error.__cause__, aiohttp.ClientError) else error
    return next((words for kinds, words in _WORDS if isinstance(origin, kinds)), "could not be asked")
