"""Routes that read their body as JSON and nothing more: no NaN, no lone surrogates, no endless nesting."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json


class StrictJsonRequest(Request):
    """A request whose body is read by RFC 8259; Python's own reader takes more than JSON."""

    async def json(self) -> Any:
        """Read the body.

        Raises:
            JSONDecodeError: it is no JSON; the framework turns this one into a 422.
        """
        body = await self.body()
        try:
            return from_json(body, allow_inf_nan=False)
        except ValueError as error:
            raise JSONDecodeError(str(error), "", 0) from error


class StrictJsonRoute(APIRoute):
    """A route whose requests are `StrictJsonRequest`s."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the framework's handler."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictJsonRequest(request.scope, request.receive))

        return handle_strictly
