"""How calls and turns end, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.core.errors import ErrorKind


class ResultStatus(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"
    REPEATED = "repeated"
    UNKNOWN_TOOL = "unknown_tool"
    BAD_ARGUMENTS = "bad_arguments"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    NOT_RUN = "not_run"


class Outcome(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    TURN_LIMIT = "turn_limit"
    SESSION_FULL = "session_full"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Limit(StrEnum):
    """The limit that ended or shortened a turn."""

    TOOL_ITERATIONS = "tool_iterations"
    REPEATED_CALL = "repeated_call"
    DENIED_REPEATEDLY = "denied_repeatedly"
    MAX_TOKENS = "max_tokens"
    TURN_TIME = "turn_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnError:
    """Why a turn failed: the ERROR of DESIGN section 3."""

    kind: ErrorKind
    message: str
    status: int | None = None
