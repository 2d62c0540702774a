"""What a turn has done already, by what a call does: the memory behind repeats and denials (T7, A4).

It is folded from results alone, so no restart forgets it. Above: the fold and the batch. Below: `action`, `records`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from service.core.action import RepeatKey, action_of, repeat_key
from service.core.records import ResultStatus, ToolCall, ToolResult

ENDED_BADLY = frozenset({ResultStatus.FAILED, ResultStatus.INTERRUPTED, ResultStatus.CANCELLED})
"""After one of these the same call may run once more."""

_RAN = ENDED_BADLY | {ResultStatus.OK}


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCall:
    """What came of a pair of name and arguments in this turn.

    `result` is the last one that was no repeat; `ran_again` says that the one further run after a failure was used
    up; `repeats` counts the calls that were answered without being run.
    """

    result: ToolResult
    ran_again: bool = False
    repeats: int = 0

    @property
    def is_denied(self) -> bool:
        """Whether the action was refused, by a person or by the port: it stays refused for the turn (A4)."""
        return self.result.status is ResultStatus.DENIED

    @property
    def may_run(self) -> bool:
        """Whether the same call may run once more: only after a failure, and only once."""
        return self.result.status in ENDED_BADLY and not self.ran_again


PastCalls = Mapping[RepeatKey, PastCall]


def key_of(call: ToolCall) -> RepeatKey:
    """Give the pair by which a call is known again."""
    return repeat_key(action_of(call.name, call.arguments))


def with_batch(past: PastCalls, batch: Iterable[tuple[ToolCall, ToolResult]]) -> PastCalls:
    """Remember the results of a batch that is whole, in call order."""
    known = dict(past)
    for call, result in batch:
        key = key_of(call)
        now = _remembered(known.get(key), result)
        if now is not None:
            known[key] = now
    return known


def _remembered(before: PastCall | None, result: ToolResult) -> PastCall | None:
    if result.status in _RAN:
        return PastCall(
            result=result,
            ran_again=before is not None and before.result.status in ENDED_BADLY,
            repeats=0 if before is None else before.repeats,
        )
    if result.status is ResultStatus.REPEATED:
        return before and replace(before, repeats=before.repeats + 1)
    # Of a denial the first text is the one that is told again. The other statuses did nothing.
    if result.status is ResultStatus.DENIED and (before is None or not before.is_denied):
        return PastCall(result=result)
    return before


def denied_again(past: PastCalls, batch: Iterable[tuple[ToolCall, ToolResult]]) -> bool:
    """Say whether a batch asked for something that had been denied before in this turn (A4)."""
    return any(
        result.status is ResultStatus.DENIED and (before := past.get(key_of(call))) is not None and before.is_denied
        for call, result in batch
    )
