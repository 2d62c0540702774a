"""Everything that can go wrong, divided by whose fault it is.

TurnkeeperError
├── RequestRefused          the caller's: refused before work starts (H2), carries the problem code
├── ModelFailure            the model server's: carries the ERROR kind that a turn shows
│   ├── UpstreamHttp        a status other than 200 (L3)
│   └── ContextFull         the prompt does not fit (L3, C0)
├── ToolPortFailure         the tool port's: its list can't be had (X3)
├── StoreFailure            ours: a write or a read failed (S5)
│   ├── SequenceConflict    another writer was there first (S1)
│   ├── TooManySessions     the owner of a new session has as many as are allowed (K3)
│   ├── StoreLocked         another process has the store open (S2)
│   └── StoreAbsent         there is none to be looked at
└── IllegalTransition       ours: a record that the turn's table does not allow
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from service.core.json_types import JsonValue


class ErrorKind(StrEnum):
    """Why a turn failed: the `kind` of an ERROR (DESIGN section 3)."""

    CONNECT = "connect"
    LOAD_TIMEOUT = "load_timeout"
    WAIT_TIMEOUT = "wait_timeout"
    STALLED = "stalled"
    STREAM_CLOSED = "stream_closed"
    PROTOCOL = "protocol"
    UPSTREAM_HTTP = "upstream_http"
    UPSTREAM_ERROR = "upstream_error"
    CONTEXT_FULL = "context_full"
    EMPTY_ANSWER = "empty_answer"
    THINKING_CAP = "thinking_cap"
    TOOL_PORT = "tool_port"
    STORE = "store"
    CRASHED = "crashed"
    PLAN_CHANGED = "plan_changed"
    """Of readings only: the model, its template or our prompts are others than when it was begun (R5)."""
    INTERNAL = "internal"


RESTART_RETRY_S = 5
"""Seconds after which a client should ask a service again that stops: it may have been started anew."""


class ProblemCode(StrEnum):
    """The `code` of a problem document (H2)."""

    VALIDATION = "validation"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    NOT_ACCEPTABLE = "not_acceptable"
    TURN_IN_PROGRESS = "turn_in_progress"
    SESSION_FULL = "session_full"
    NOT_PENDING = "not_pending"
    DIGEST_MISMATCH = "digest_mismatch"
    IDEMPOTENCY_MISMATCH = "idempotency_mismatch"
    TOO_LARGE = "too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    WRONG_HOST = "wrong_host"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    QUEUE_FULL = "queue_full"
    RATE_LIMITED = "rate_limited"
    TOOL_PORT_UNAVAILABLE = "tool_port_unavailable"
    SHUTTING_DOWN = "shutting_down"
    INTERNAL = "internal"


class TurnkeeperError(Exception):
    """The root of all errors that this service raises on purpose."""


class RequestRefused(TurnkeeperError):
    """A request that is refused before any work started (H2).

    `detail` is a sentence that says what to do; `extensions` are further members of the problem document
    (`turn`, `needed_tokens`, …); `retry_after_s` becomes the `Retry-After` header.
    """

    def __init__(
        self,
        code: ProblemCode,
        detail: str,
        *,
        extensions: Mapping[str, JsonValue] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.extensions = dict(extensions or {})
        self.retry_after_s = retry_after_s


def service_is_stopping() -> RequestRefused:
    """Refuse what a service that stops would have to begin (H8)."""
    return RequestRefused(
        ProblemCode.SHUTTING_DOWN, "The service is stopping; try again in a moment.", retry_after_s=RESTART_RETRY_S
    )


class ModelFailure(TurnkeeperError):
    """The model server did not give a usable completion; `message` is what the turn's ERROR says."""

    def __init__(self, kind: ErrorKind, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status


class UpstreamHttp(ModelFailure):
    """A status other than 200 from llama-server, with at most `max_error_body` bytes of its text (L3)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(ErrorKind.UPSTREAM_HTTP, message, status=status)


class ContextFull(ModelFailure):
    """The prompt does not fit the slot's context; counts are tokens, None where the server told none (L3)."""

    def __init__(
        self,
        message: str,
        *,
        prompt_tokens: int | None,
        context_tokens: int | None,
        status: int | None = None,
    ) -> None:
        super().__init__(ErrorKind.CONTEXT_FULL, message, status=status)
        self.prompt_tokens = prompt_tokens
        self.context_tokens = context_tokens


class ToolPortFailure(TurnkeeperError):
    """The tool port's list of tools could not be had; the text says why in one line."""


class StoreFailure(TurnkeeperError):
    """The store could not do what was asked; nothing of the request was kept."""


class SequenceConflict(StoreFailure):
    """An append expected another last `seq` than the log has (S1)."""


class TooManySessions(StoreFailure):
    """A session was not made, since its owner has as many as the request allows (K3)."""


class StoreLocked(StoreFailure):
    """Another process has this store open (S2)."""


class StoreAbsent(StoreFailure):
    """There is no store where one was to be looked at; a start would make it."""


class StoreOutdated(StoreFailure):
    """The store is of an older version and can't be read as it is; a start would bring it to this one (S6)."""


class IllegalTransition(TurnkeeperError):
    """A record came in a state that does not allow it: a defect of ours, never a caller's mistake."""
