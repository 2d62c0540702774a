"""Every refusal as an `application/problem+json` document (RFC 9457), each code with one status (H2).

Above: the guard and all routes. `type` is `about:blank`: what tells problems apart is `code`, so `title` is the
status phrase of RFC 9110.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from service.core.errors import ProblemCode, RequestRefused, StoreFailure
from service.core.json_types import JsonObject
from service.web.validation import refused_for

MEDIA_TYPE = "application/problem+json"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Status:
    """A status code with its phrase; Python's own phrases differ between its versions."""

    code: int
    phrase: str


_CONFLICT = Status(409, "Conflict")
_UNPROCESSABLE = Status(422, "Unprocessable Content")
_TOO_MANY = Status(429, "Too Many Requests")
_UNAVAILABLE = Status(503, "Service Unavailable")

STATUS: Mapping[ProblemCode, Status] = {
    ProblemCode.VALIDATION: _UNPROCESSABLE,
    ProblemCode.NOT_FOUND: Status(404, "Not Found"),
    ProblemCode.METHOD_NOT_ALLOWED: Status(405, "Method Not Allowed"),
    ProblemCode.NOT_ACCEPTABLE: Status(406, "Not Acceptable"),
    ProblemCode.TURN_IN_PROGRESS: _CONFLICT,
    ProblemCode.SESSION_FULL: _CONFLICT,
    ProblemCode.NOT_PENDING: _CONFLICT,
    ProblemCode.DIGEST_MISMATCH: _CONFLICT,
    ProblemCode.IDEMPOTENCY_MISMATCH: _UNPROCESSABLE,
    ProblemCode.TOO_LARGE: Status(413, "Content Too Large"),
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: Status(415, "Unsupported Media Type"),
    ProblemCode.WRONG_HOST: Status(421, "Misdirected Request"),
    ProblemCode.UNAUTHORIZED: Status(401, "Unauthorized"),
    ProblemCode.FORBIDDEN: Status(403, "Forbidden"),
    ProblemCode.QUEUE_FULL: _TOO_MANY,
    ProblemCode.RATE_LIMITED: _TOO_MANY,
    ProblemCode.TOOL_PORT_UNAVAILABLE: _UNAVAILABLE,
    ProblemCode.SHUTTING_DOWN: _UNAVAILABLE,
    ProblemCode.INTERNAL: Status(500, "Internal Server Error"),
}


def problem_response(refused: RequestRefused, scope: Scope, headers: Mapping[str, str] | None = None) -> Response:
    """Write a refusal as a problem document; `instance` is the path without the query, which may hold secrets."""
    status = STATUS[refused.code]
    document: JsonObject = {
        **refused.extensions,
        "type": "about:blank",
        "title": status.phrase,
        "status": status.code,
        "detail": refused.detail,
        "instance": quote(scope["path"], errors="replace"),
        "code": refused.code.value,
    }
    answer_headers = dict(headers or {})
    if refused.retry_after_s is not None:
        answer_headers["Retry-After"] = str(refused.retry_after_s)
    return Response(json.dumps(document, separators=(",", ":")), status.code, answer_headers, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Answer everything that can go wrong in the app as a problem."""
    for kind, answer in _ANSWERS.items():
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(Exception, _unexpected)


async def answer_to(request: Request, error: Exception) -> tuple[Response, bool]:
    """Answer what can go wrong where the framework doesn't; the flag says that it is a mistake of ours."""
    for kind, answer in _ANSWERS.items():
        if isinstance(error, kind):
            return await answer(request, error), False
    return await _unexpected(request, error), True


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)  # registered for it alone
    return problem_response(error, request.scope)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # registered for it alone
    return problem_response(refused_for(error.errors()), request.scope)


async def _framework_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # registered for it alone
    if error.status_code == STATUS[ProblemCode.NOT_FOUND].code:
        detail = "there is nothing at this address; GET / lists what there is"
        return problem_response(RequestRefused(ProblemCode.NOT_FOUND, detail), request.scope)
    if error.status_code == STATUS[ProblemCode.METHOD_NOT_ALLOWED].code:
        return _wrong_method(request)
    if error.status_code == STATUS[ProblemCode.TOO_LARGE].code:
        return problem_response(RequestRefused(ProblemCode.TOO_LARGE, error.detail), request.scope)
    # What is left is a body that the framework could not read.
    return problem_response(RequestRefused(ProblemCode.VALIDATION, error.detail), request.scope)


def _wrong_method(request: Request) -> Response:
    # The framework names the methods of one route only, and a path may have several routes.
    allowed = [method for method in METHODS if _is_routed(request, method)]
    detail = f"{request.method} does nothing here; use {', '.join(allowed)}"
    refused = RequestRefused(ProblemCode.METHOD_NOT_ALLOWED, detail)
    return problem_response(refused, request.scope, {"Allow": ", ".join(allowed)})


def _is_routed(request: Request, method: str) -> bool:
    scope = {**request.scope, "method": method}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.router.routes)


async def _store_failed(request: Request, error: Exception) -> Response:
    log.error("store.failed", path=request.url.path, reason=str(error))
    detail = "the store failed, and nothing of this request was kept; the service's log says why"
    return problem_response(RequestRefused(ProblemCode.INTERNAL, detail), request.scope)


_ANSWERS: Mapping[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    RequestRefused: _refused,
    RequestValidationError: _invalid,
    HTTPException: _framework_refusal,
    StoreFailure: _store_failed,
}


async def _unexpected(request: Request, error: Exception) -> Response:
    # The server logs the error with its traceback; the caller is told nothing of it (K5).
    detail = "the service made a mistake; its log says which"
    return problem_response(RequestRefused(ProblemCode.INTERNAL, detail), request.scope)
