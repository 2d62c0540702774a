"""A short way for requests that ask for nothing unusual, past the framework's routing, dependencies and parameters.

Those cost 0.6 ms for each request, where a whole turn, with the session that it is in, may cost 1.5. What is unusual
in any way takes the ordinary way, which alone refuses: a query, a key, a preference, a body that doesn't fit. So both
ways give the same answers. Above: `app.py`, and the routes, which have the short ways. Below: `problems`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fastapi import Request, Response
from pydantic import BaseModel, ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.web.problems import answer_to
from service.web.strict_json import StrictJsonRequest

Body = TypeVar("Body", bound=BaseModel)

_UNUSUAL = frozenset({b"prefer", b"idempotency-key"})


@dataclass(frozen=True, slots=True)
class ShortWay:
    """Answers a POST to a path, or gives None: then the request takes the ordinary way.

    What the pattern's groups match is in `path_params`, as it is on the ordinary way.
    """

    path: re.Pattern[str]
    answer: Callable[[Request], Awaitable[Response | None]]


class ShortWays:
    """Answer what may take a short way; stands behind all else that stands before the framework."""

    def __init__(self, app: ASGIApp, ways: Sequence[ShortWay]) -> None:
        self._app = app
        self._ways = ways

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of the server."""
        way = self._way_of(scope)
        if way is None:
            await self._app(scope, receive, send)
            return
        request = StrictJsonRequest(scope, receive)
        try:
            answer = await way.answer(request)
        except Exception as error:  # not swallowed: a mistake of ours is raised again, for the server's log
            answer, is_ours = await answer_to(request, error)
            await answer(scope, receive, send)
            if is_ours:
                raise
            return
        if answer is None:
            await self._app(scope, _from_the_beginning(await request.body(), receive), send)
            return
        await answer(scope, receive, send)

    def _way_of(self, scope: Scope) -> ShortWay | None:
        if _is_plain(scope):
            for way in self._ways:
                if found := way.path.fullmatch(scope["path"]):
                    scope["path_params"] = found.groupdict()
                    return way
        return None


async def plain_body(request: Request, model: type[Body]) -> Body | None:
    """Read a body; None when it doesn't fit."""
    try:
        return model.model_validate(await request.json())
    # What is no JSON raises a ValueError, as does what is none of the model.
    except (ValueError, ValidationError):
        return None


def _is_plain(scope: Scope) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "POST"
        and not scope["query_string"]
        and not scope.get("root_path")
        and _UNUSUAL.isdisjoint([name for name, _ in scope["headers"]])
    )


def _from_the_beginning(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read once more, and then what comes."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return left.pop() if left else await receive()

    return receive_again
