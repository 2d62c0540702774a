"""Read and check what comes in: who asks, how much, and whether it is a call."""

import hashlib
import hmac
import json
from http import HTTPStatus

from fastapi import Request
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from service.port_wire.problems import Problem

MAX_BODY_BYTES = 1024 * 1024
MAX_KEY_CHARACTERS = 256


class Approval(BaseModel):
    """Say who allowed this call. The port needs only to know that it is there."""

    model_config = ConfigDict(strict=True, frozen=True)

    by: str | None = None
    reason: str | None = None
    digest: str | None = None
    decided_at: str | None = None


class CallRequest(BaseModel):
    """The body of `POST /calls`. Unknown fields are ignored, so that Turnkeeper can add some."""

    model_config = ConfigDict(strict=True, frozen=True)

    session: str
    turn: str
    call: int
    tool: str
    arguments: dict[str, JsonValue]
    approval: Approval | None = None

    def fingerprint(self) -> bytes:
        """Give a SHA-256 of what would run: one key belongs to one tool with one set of arguments."""
        text = json.dumps([self.tool, self.arguments, self.approval is not None], sort_keys=True)
        return hashlib.sha256(text.encode()).digest()


def check_caller(request: Request, token: str | None) -> None:
    """Refuse web pages, and callers without the token if there is one.

    Raises:
        Problem: 403 or 401.
    """
    # A page in somebody's browser can reach a port on loopback. Browsers name the page, Turnkeeper has none.
    if "origin" in request.headers:
        raise Problem(HTTPStatus.FORBIDDEN, "forbidden", "web pages may not use this tool port")
    if token is None:
        return
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    known = hmac.compare_digest(given.strip().encode("latin-1"), token.encode())
    if scheme.lower() != "bearer" or not known:
        raise Problem(
            HTTPStatus.UNAUTHORIZED,
            "unauthorized",
            "this tool port needs its bearer token",
            {"WWW-Authenticate": "Bearer"},
        )


def idempotency_key(request: Request) -> str | None:
    """Give the key as it came, quotes and all: it is opaque.

    Raises:
        Problem: 422, the key is too long to be remembered.
    """
    key = request.headers.get("idempotency-key")
    if key is not None and len(key) > MAX_KEY_CHARACTERS:
        detail = f"Idempotency-Key has more than {MAX_KEY_CHARACTERS} characters"
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "validation", detail)
    return key or None


async def read_body(request: Request) -> bytes:
    """Read the body of a call, no more than its cap.

    Raises:
        Problem: 415 or 413.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "send application/json")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            detail = f"a call has at most {MAX_BODY_BYTES} bytes"
            raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", detail)
    return bytes(body)


def parse_call(body: bytes) -> CallRequest:
    """Check that a body is a call.

    Raises:
        Problem: 422.
    """
    try:
        return CallRequest.model_validate_json(body)
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}"
            for item in error.errors(include_url=False, include_context=False, include_input=False)[:3]
        )
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "validation", told) from error
