"""llama-server's error objects as failures, wherever they come: as a body (L3), or in mid-stream (L4).

Above: `completion`, and the adapter for the status codes. Below: `errors`.
"""

from __future__ import annotations

import json
from typing import cast

from service.core.errors import ContextFull, ErrorKind, ModelFailure, UpstreamHttp
from service.core.json_types import JsonObject, JsonValue
from service.core.text import encodable

CONTEXT_FULL_TYPE = "exceed_context_size_error"

# What is shown to people and kept in the log; llama-server's own texts are a few hundred characters, but an error
# in mid-stream may be as long as a line.
MAX_MESSAGE_CHARACTERS = 64 * 1024

# Counts beyond this are no counts; it keeps them inside what JSON readers and databases hold exactly.
_MAX_TOKENS = 2**53


def failure_in_stream(error: JsonValue) -> ModelFailure:
    """Read the error that ended a stream (L4); `error` is the error object, or whatever stood in its place."""
    failure = _context_full(error, None)
    if failure is not None:
        return failure
    text = _message(error)
    code = cast(JsonObject, error).get("code") if isinstance(error, dict) else None
    status = code if type(code) is int and 100 <= code <= 599 else None
    return ModelFailure(ErrorKind.UPSTREAM_ERROR, f"llama-server broke off: {text}", status=status)


def failure_of_status(status: int, text: str) -> ModelFailure:
    """Read the answer to a request that llama-server refused; `text` is its body as far as it was read (L3)."""
    try:
        body: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    error = cast(JsonObject, body).get("error") if isinstance(body, dict) else None
    failure = _context_full(error, status)
    if failure is not None:
        return failure
    said = _message(error) if error else encodable(text.strip()[:MAX_MESSAGE_CHARACTERS])
    return UpstreamHttp(status, f"llama-server answered {status}: {said or '(no text)'}")


def token_count(value: JsonValue) -> int | None:
    """Give a count of tokens, or None for whatever else a server puts in its place."""
    return value if type(value) is int and 0 <= value <= _MAX_TOKENS else None


def _context_full(error: JsonValue, status: int | None) -> ContextFull | None:
    if not isinstance(error, dict):
        return None
    members = cast(JsonObject, error)
    if members.get("type") != CONTEXT_FULL_TYPE:
        return None
    return ContextFull(
        _message(members),
        prompt_tokens=token_count(members.get("n_prompt_tokens")),
        context_tokens=token_count(members.get("n_ctx")),
        status=status,
    )


def _message(error: JsonValue) -> str:
    said: JsonValue = cast(JsonObject, error).get("message") if isinstance(error, dict) else error
    text = said if isinstance(said, str) and said else _shown(error)
    return encodable(text[:MAX_MESSAGE_CHARACTERS])


def _shown(error: JsonValue) -> str:
    try:
        return json.dumps(error, ensure_ascii=False)
    except RecursionError:
        return "(an error nested too deeply to be shown)"
