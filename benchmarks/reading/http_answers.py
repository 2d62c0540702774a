"""What an HTTP server answered, read with a clear failure for all that isn't as expected."""

from __future__ import annotations

from typing import cast

import httpx

from benchmarks.reading.failures import AttemptFailed
from service.core.json_types import JsonObject

_SHOWN_CHARACTERS = 200


def json_object(answer: httpx.Response, what: str) -> JsonObject:
    """Return the answer's JSON object.

    Raises:
        AttemptFailed: an error status, or no JSON object; the message begins with `what`.
    """
    if not answer.is_success:
        raise refusal(answer, what)
    try:
        value: object = answer.json()
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise AttemptFailed(f"{what} answered with no JSON object")
    return cast(JsonObject, value)


def refusal(answer: httpx.Response, what: str) -> AttemptFailed:
    """Return the failure that an answer stands for."""
    return AttemptFailed(f"{what}: {answer.status_code} {answer.text[:_SHOWN_CHARACTERS]}")


def words_of(error: httpx.HTTPError) -> str:
    """Return what went wrong; some errors of httpx have no text."""
    return str(error) or type(error).__name__
