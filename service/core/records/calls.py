"""What becomes of the calls of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from service.core.labels import DataClass
from service.core.records.outcomes import Limit, ResultStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted:
    """A call is about to be sent to the tool port; appended before it is (T6, S4)."""

    type: ClassVar[str] = "tool_call_started"
    call: int
    tool_call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """How a call ended, with the text that the model gets.

    `cap` and `original_bytes` count bytes of UTF-8; `fence` is set on untrusted results (P6). `limit` is set on each
    result of a batch that a limit of the turn kept from running: what follows is no further batch (T5, T7, A4).
    """

    type: ClassVar[str] = "tool_result"
    call: int
    tool_call_id: str
    name: str
    status: ResultStatus
    content: str
    data_class: DataClass = DataClass.PUBLIC
    untrusted: bool = False
    fence: str | None = None
    truncated: bool = False
    original_bytes: int = 0
    cap: int = 0
    limit: Limit | None = None
