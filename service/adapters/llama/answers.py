"""The body of a short answer: whole, not longer than such answers are, and JSON."""

from __future__ import annotations

import json
from typing import cast

import httpx

from service.core.errors import ErrorKind, ModelFailure
from service.core.json_types import JsonObject, JsonValue

# A chat template is some ten kilobytes, a rendered probe less, a slot with its parameters a few.
_MAX_ANSWER_BYTES = 8 * 1024 * 1024


async def whole_body(response: httpx.Response) -> bytes:
    """Read it to its end.

    Raises:
        ModelFailure: it is longer than any answer of llama-server.
    """
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MAX_ANSWER_BYTES:
            raise ModelFailure(ErrorKind.PROTOCOL, f"llama-server answered with more than {_MAX_ANSWER_BYTES} bytes")
    return bytes(body)


def json_object(text: bytes, path: str) -> JsonObject:
    """Read it as an object.

    Raises:
        ModelFailure: it is none.
    """
    try:
        answer: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise ModelFailure(ErrorKind.PROTOCOL, f"llama-server answered /{path} with something that is no JSON object")
    return cast(JsonObject, answer)
