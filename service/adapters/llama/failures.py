"""What the HTTP client raises, as failures of the model server: the one place where these exceptions are named."""

from __future__ import annotations

import os

import aiohttp
import aiohttp.http_exceptions
import httpx

from service.core.errors import ErrorKind, ModelFailure

NETWORK_ERRORS = (
    httpx.HTTPError,
    # The transport passes on what it has no httpx exception for.
    aiohttp.ClientError,
    aiohttp.http_exceptions.HttpProcessingError,
    OSError,
)
"""All that a request or a read can raise when the other side or the way to it fails."""

_NO_HTTP = (aiohttp.ClientResponseError, aiohttp.http_exceptions.HttpProcessingError)
_NEVER_CONNECTED = (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError, httpx.ConnectError, httpx.ConnectTimeout)


def failure_of_request(error: Exception, address: str) -> ModelFailure:
    """Read the error of a request that got no answer: never connected, or lost on the way (L7)."""
    # The transport calls everything ConnectTimeout, also a connection that stood and was lost; the cause tells.
    cause = error.__cause__ if isinstance(error.__cause__, aiohttp.ClientError) else error
    if isinstance(cause, _NO_HTTP):
        return ModelFailure(ErrorKind.PROTOCOL, f"what answers at {address} does not speak HTTP")
    if isinstance(cause, _NEVER_CONNECTED):
        return ModelFailure(
            ErrorKind.CONNECT,
            f"llama-server can't be reached at {address} ({_reason(cause)}): "
            "start it there, or set TURNKEEPER_LLAMA_URL to where it is",
        )
    return ModelFailure(
        ErrorKind.STREAM_CLOSED, f"llama-server at {address} closed the connection before it had answered"
    )


def _reason(cause: Exception) -> str:
    if isinstance(cause, aiohttp.ClientConnectorError):
        number = cause.os_error.errno
        # Errors of name resolution have negative numbers and a text of their own.
        if number is not None and number > 0:
            return os.strerror(number)
        return cause.os_error.strerror or str(cause.os_error)
    return "no answer in time" if isinstance(cause, TimeoutError | httpx.TimeoutException) else str(cause)
