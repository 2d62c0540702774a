"""A short way for requests that ask for nothing unusual, past the framework's dependencies and parameters.

Those cost 0.25 ms for each request, where a whole turn, with the session that it is in, may cost 1.5. What is unusual
in any way takes the ordinary way, which alone refuses: a query, a key, a preference, a body that doesn't fit. So both
ways give the same answers. Above: the routes. Below: nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fastapi import Request, Response
from pydantic import BaseModel, ValidationError

ShortWay = Callable[[Request], Awaitable[Response | None]]
"""Answers a request, or gives None: then it takes the ordinary way."""

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
Body = TypeVar("Body", bound=BaseModel)

_UNUSUAL = frozenset({b"prefer", b"idempotency-key"})
_SHORT_WAY = "short_way"


def with_short_way(short_way: ShortWay) -> Callable[[Endpoint], Endpoint]:
    """Give an endpoint a short way."""

    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _SHORT_WAY, short_way)
        return endpoint

    return mark


def short_way_of(endpoint: Callable[..., Any]) -> ShortWay | None:
    """Give an endpoint's short way, if it has one."""
    return getattr(endpoint, _SHORT_WAY, None)


def is_plain(request: Request) -> bool:
    """Say whether a request may take a short way."""
    return not request.scope["query_string"] and all(name not in _UNUSUAL for name, _ in request.scope["headers"])


async def plain_body(request: Request, model: type[Body]) -> Body | None:
    """Read a body; None when it doesn't fit."""
    try:
        return model.model_validate(await request.json())
    # What is no JSON raises a ValueError, as does what is none of the model.
    except (ValueError, ValidationError):
        return None
