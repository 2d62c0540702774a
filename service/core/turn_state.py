"""A turn's state, as the fold of its records; nothing else is remembered (section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec

from service.core.errors import ErrorKind
from service.core.ids import TurnId
from service.core.past_calls import PastCall, PastCalls
from service.core.records import (
    ApprovalDecided,
    Assistant,
    ChildLink,
    Limit,
    PendingCall,
    SessionTotals,
    ToolCall,
    ToolResult,
    TurnOptions,
)
from service.core.usage import UsageTotals


class Phase(StrEnum):
    """What the machine does next."""

    IDLE = "idle"
    """No turn is in progress: the next record is a `user`."""
    ASKING = "asking"
    """A sending point: the model is asked."""
    CALLING = "calling"
    """A batch is open: some of its calls have no result yet."""
    AWAITING_APPROVAL = "awaiting_approval"
    """A batch is open, and some of its calls wait for a person (A1)."""
    ENDING = "ending"
    """The outcome is known: `turn_finished` is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallState:
    """One call of the open batch; its last record says where it is.

    `started` says that it is in flight: at the port, or with the agent of `child`. `asked` is what a person was asked
    about it, `asked_by_port` that the port wanted that; `decision` is what was decided, at `decided_at`.
    """

    call: ToolCall
    started: bool = False
    asked: PendingCall | None = None
    asked_by_port: bool = False
    decision: ApprovalDecided | None = None
    decided_at: datetime | None = None
    child: ChildLink | None = None
    result: ToolResult | None = None

    @property
    def is_pending(self) -> bool:
        """Whether it waits for a person."""
        return self.asked is not None and self.decision is None and self.result is None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedTurn:
    """A turn that waits for those before it (H4)."""

    turn: TurnId
    content: str
    options: TurnOptions


class TurnState(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides what a session's turn does next.

    A msgspec struct, since each record of a turn makes two or three of them: with its 25 fields a dataclass takes 8 µs
    for that, and this 0.3.

    `step` counts completions that were kept; `failures` are the failed ones of the step that comes next.
    `past_calls` are the whole batches of the turn, and `denied_steps` those that asked again for what was denied;
    `stopped_by` is the limit that kept a batch from running. `used_tokens` is prompt + completion of the last
    completion that is in the prompt, `first_prompt_tokens` the prompt of the first such one in its turn (P5); behind
    a summary `used_tokens` is the size of the new prompt, and `compacted_from` what it was before.
    `fruitless_summaries` and `summaries` are those of the turn (C1). `untrusted_before` says that the session held
    untrusted text when the open batch was asked for (A7). `paused_s` is how long the turn waited for people, without
    the wait that began at `paused_at` and goes on (T12). `depth` counts the handoffs above this session (G2).
    """

    phase: Phase = Phase.IDLE
    turn: TurnId | None = None
    started_at: datetime | None = None
    options: TurnOptions = TurnOptions()
    step: int = 0
    failures: tuple[ErrorKind, ...] = ()
    failed_while_thinking: bool = False
    batches: int = 0
    batch: tuple[CallState, ...] = ()
    past_calls: PastCalls = msgspec.field(default_factory=dict[tuple[str, str], PastCall])
    denied_steps: int = 0
    stopped_by: Limit | None = None
    answer: Assistant | None = None
    usage: UsageTotals = UsageTotals()
    used_tokens: int = 0
    first_prompt_tokens: int = 0
    compacted_from: int = 0
    summaries: int = 0
    fruitless_summaries: int = 0
    untrusted_before: bool = False
    paused_s: float = 0.0
    paused_at: datetime | None = None
    depth: int = 0
    resumed: int = 0
    totals: SessionTotals = SessionTotals()
    queued: tuple[QueuedTurn, ...] = ()

    @property
    def waiting_turns(self) -> tuple[TurnId, ...]:
        """The turns of the queue, the next one first."""
        return tuple(waiting.turn for waiting in self.queued)

    @property
    def open_calls(self) -> tuple[CallState, ...]:
        """The calls of the batch that have no result."""
        return tuple(call for call in self.batch if call.result is None)

    @property
    def pending_calls(self) -> tuple[CallState, ...]:
        """The calls of the batch that wait for a person."""
        return tuple(call for call in self.batch if call.is_pending)

    @property
    def child(self) -> ChildLink | None:
        """The session and turn that an open call was handed over to (G2)."""
        return next((call.child for call in self.open_calls if call.child is not None), None)

    @property
    def failed_by(self) -> ErrorKind | None:
        """Why the last attempt at the step that comes next failed, if there was one."""
        return self.failures[-1] if self.failures else None

    @property
    def thinking_left(self) -> int:
        """Tokens of thought that this turn may still spend (L6)."""
        return max(0, self.options.limits.thinking_tokens - self.usage.reasoning_tokens)
