"""What the HTTP client raises, as failures of the model server: the one place where these exceptions are named."""

from __future__ import annotations

import httpx

from service.adapters.llama.exchange import NotHttp
from service.core.errors import ErrorKind, ModelFailure

NETWORK_ERRORS = (httpx.HTTPError, OSError)
"""All that a request or a read can raise when the other side or the way to it fails."""


def failure_of_request(error: Exception, address: str) -> ModelFailure:
    """Read the error of a request that got no answer: never connected, or lost on the way (L7)."""
    if isinstance(error, NotHttp):
        return ModelFailure(ErrorKind.PROTOCOL, f"what answers at {address} does not speak HTTP")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return ModelFailure(
            ErrorKind.CONNECT,
            f"llama-server can't be reached at {address} ({str(error) or 'no answer in time'}): "
            "start it there, or set TURNKEEPER_LLAMA_URL to where it is",
        )
    return ModelFailure(
        ErrorKind.STREAM_CLOSED, f"llama-server at {address} closed the connection before it had answered"
    )
