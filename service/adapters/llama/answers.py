"""The bodies of short answers: not longer than such answers are, also when they come packed, and JSON.

httpx would unpack them as well, but without a bound: of 256 KiB that arrive together it makes up to 256 MiB, and more
where they are packed twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import cast

import httpx

from service.adapters.llama.failures import NETWORK_ERRORS
from service.core.capped_body import CappedBody, UnreadableBody
from service.core.errors import ErrorKind, ModelFailure
from service.core.json_types import JsonObject, JsonValue

# A chat template is some ten kilobytes, a rendered probe less, a slot with its parameters a few.
_MAX_ANSWER_BYTES = 8 * 1024 * 1024


async def whole_body(response: httpx.Response) -> bytes:
    """Read it to its end.

    Raises:
        ModelFailure: it is longer than any answer of llama-server, or can't be unpacked.
    """
    try:
        body = CappedBody(response.headers.get("Content-Encoding", ""), _MAX_ANSWER_BYTES)
        async for chunk in response.aiter_raw():
            body.feed(chunk)
            if body.is_cut:
                said = f"llama-server answered with more than {_MAX_ANSWER_BYTES} bytes"
                raise ModelFailure(ErrorKind.PROTOCOL, said)
        return body.finish().content
    except UnreadableBody as error:
        raise ModelFailure(ErrorKind.PROTOCOL, f"llama-server {error}") from error


async def refusal_text(chunks: AsyncIterator[bytes], content_encoding: str, *, max_bytes: int, within_s: float) -> str:
    """Read what a refusal says, as far as it comes and is allowed (L3); nothing when it can't be unpacked."""
    try:
        body = CappedBody(content_encoding, max_bytes)
        with contextlib.suppress(TimeoutError, *NETWORK_ERRORS):
            async with asyncio.timeout(within_s):
                async for chunk in chunks:
                    body.feed(chunk)
                    if body.is_cut:
                        break
        return body.finish().content.decode("utf-8", "replace")
    except UnreadableBody:
        return ""


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
