"""Refusals of the port itself, as `application/problem+json` (RFC 9457).

A tool that fails is no refusal: that is status 200 and `"status": "failed"`.
"""

import json
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException


class Problem(HTTPException):
    """Refuse a request with a status, a code for programs and a sentence for people."""

    def __init__(self, status: HTTPStatus, code: str, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, detail, headers)
        self.code = code


class KeyReused(Problem):
    """Refuse an idempotency key that came back with another call."""

    def __init__(self) -> None:
        detail = "this Idempotency-Key was used for another call"
        super().__init__(HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency_mismatch", detail)


async def _render(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    status = HTTPStatus(error.status_code)
    body = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": error.detail,
        "code": error.code if isinstance(error, Problem) else status.name.lower(),
    }
    return Response(
        json.dumps(body, ensure_ascii=False),
        status,
        dict(error.headers or {}),
        media_type="application/problem+json",
    )


def install(app: FastAPI) -> None:
    """Answer every refusal of the app, unknown paths and wrong methods too, as a problem."""
    app.add_exception_handler(HTTPException, _render)
