"""The records that come out of what happened: a completion, a failure, a cancel, an end (T3, T4, T11, T13)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from service.core.batch import close_call
from service.core.call_ids import numbered_calls
from service.core.completion_events import Completion, FinishReason
from service.core.errors import ContextFull, ErrorKind, ModelFailure
from service.core.records import (
    Assistant,
    Attempt,
    CutCall,
    HandoffReturned,
    Limit,
    Outcome,
    Record,
    StepUsage,
    ToolChoice,
    TurnError,
    TurnFinished,
)
from service.core.result_text import CallOutcome, cancelled, cancelled_approval, not_run, stopped
from service.core.turn_fold import advance
from service.core.turn_state import TurnState
from service.core.usage import UsageTotals

_CUTTING = frozenset({FinishReason.LENGTH, FinishReason.CONTENT_FILTER})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialAnswer:
    """What had come of a completion when it was left: text, and the token counts as far as they are known."""

    reasoning: str = ""
    content: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0


def of_completion(
    state: TurnState,
    completion: Completion,
    *,
    asked: ToolChoice,
    context_tokens: int | None,
    nine_character_ids: bool,
    thinking_capped: bool = False,
) -> tuple[Record, ...]:
    """Give the records of a finished completion: `assistant` and `usage`, or what an unusable one leaves.

    `asked` is the tool choice of the request; `context_tokens` the slot's size, None while it isn't known;
    `thinking_capped` says that the thought came to its budget (L6).

    Raises:
        ModelFailure: the completion is of no use (T4, T11); its usage is to be kept as a discarded one.
    """
    step = state.step + 1
    cut = completion.finish_reason in _CUTTING or asked is ToolChoice.NONE
    calls = () if cut else completion.calls
    if not calls and not completion.content.strip():
        forbidden_by_limit = asked is ToolChoice.NONE and state.options.tool_choice is not ToolChoice.NONE
        _refuse_empty(completion, forbidden_by_limit=forbidden_by_limit, context_tokens=context_tokens)
    assistant = Assistant(
        step=step,
        content=completion.content,
        reasoning=completion.reasoning,
        tool_calls=numbered_calls(calls, state.totals.next_call, nine=nine_character_ids),
        cut_calls=tuple(CutCall(name=c.name, arguments=c.arguments) for c in completion.calls) if cut else (),
        finish_reason=completion.finish_reason,
    )
    return assistant, usage_of(completion, step=step, thinking_capped=thinking_capped)


def usage_of(completion: Completion, *, step: int, thinking_capped: bool = False, discarded: bool = False) -> StepUsage:
    """Give the `usage` record of a completion; `discarded` when nothing else of it is kept."""
    return StepUsage(
        step=step,
        prompt_tokens=completion.usage.prompt_tokens,
        cached_tokens=completion.usage.cached_tokens,
        completion_tokens=completion.usage.completion_tokens,
        reasoning_tokens=completion.usage.reasoning_tokens,
        thinking_capped=thinking_capped,
        timings=completion.timings,
        discarded=discarded,
        estimated=completion.estimated,
    )


def _refuse_empty(completion: Completion, *, forbidden_by_limit: bool, context_tokens: int | None) -> None:
    used = completion.usage.prompt_tokens + completion.usage.completion_tokens
    if context_tokens is not None and used >= context_tokens:
        raise ContextFull(
            f"the context was full before there was an answer ({used} of {context_tokens} tokens, which llama-server's "
            "--ctx-size sets)",
            prompt_tokens=completion.usage.prompt_tokens,
            context_tokens=context_tokens,
        )
    # Cut by a limit, or calls that came although a limit forbade them: the limit ends the turn (T4, T5).
    if completion.finish_reason in _CUTTING or (completion.calls and forbidden_by_limit):
        return
    raise ModelFailure(ErrorKind.EMPTY_ANSWER, "the model answered with no text and no tool call, twice")


def of_attempt(state: TurnState, kind: ErrorKind, partial: PartialAnswer) -> tuple[Record, ...]:
    """Give the records of a failed attempt at a step that is asked again: its cost, and that it was (T2, L7)."""
    usage = _left_behind(state, replace(partial, content=""), FinishReason.ERROR)
    return *usage, Attempt(step=state.step + 1, attempt=len(state.failures) + 1, kind=kind)


def of_failure(
    state: TurnState, failure: ModelFailure, partial: PartialAnswer, *, full: bool = False
) -> tuple[Record, ...]:
    """Give the records that end a turn whose step failed for good; `full` when its context was too small (T13)."""
    kind = ErrorKind.CONTEXT_FULL if full else failure.kind
    error = TurnError(kind=kind, message=failure.message, status=failure.status)
    outcome = Outcome.SESSION_FULL if full else Outcome.FAILED
    said = _left_behind(state, partial, FinishReason.ERROR)
    return *said, _end(state, said, outcome=outcome, error=error, content=_text(partial))


def of_cancel(state: TurnState, partial: PartialAnswer) -> tuple[Record, ...]:
    """Give the records that end a turn at once, in whatever state it is (T13)."""
    said = _left_behind(state, partial, FinishReason.CANCELLED)
    closed = _closed(state)
    end = _end(state, (*said, *closed), outcome=Outcome.CANCELLED, content=_text(partial))
    return *said, *closed, end


def of_time_up(state: TurnState, partial: PartialAnswer) -> tuple[Record, ...]:
    """Give the records that end a turn whose time is up, in whatever state it is (T12)."""
    said = _left_behind(state, partial, FinishReason.CANCELLED)
    reason = f"the time of this turn was up (limit turn_time, setting turn_time_s: {state.options.limits.turn_time_s})"
    closed = _closed(state, started=stopped(reason), waiting=not_run(reason))
    end = _end(state, (*said, *closed), outcome=Outcome.TURN_LIMIT, limit=Limit.TURN_TIME, content=_text(partial))
    return *said, *closed, end


def _closed(
    state: TurnState, *, started: CallOutcome | None = None, waiting: CallOutcome | None = None
) -> tuple[Record, ...]:
    started = started or cancelled()
    waiting = waiting or not_run("the turn ended before it was sent")
    cap = state.options.limits.tool_result_cap
    records: list[Record] = []
    for call in state.open_calls:
        if call.child is not None:
            returned = HandoffReturned(call=call.call.call, child=call.child, outcome=Outcome.CANCELLED, content=None)
            records.append(returned)
        # A call that was never sent can't have taken effect.
        outcome = started if call.started else cancelled_approval() if call.is_pending else waiting
        records.append(close_call(call.call, outcome, cap=cap).result)
    return tuple(records)


def of_queued_end(state: TurnState, outcome: Outcome, error: TurnError | None = None) -> TurnFinished:
    """Give the end of a turn whose message was never taken up (H4)."""
    return TurnFinished(outcome=outcome, error=error, steps=0, usage=UsageTotals(), totals=state.totals)


def of_error(state: TurnState, kind: ErrorKind, message: str) -> tuple[Record, ...]:
    """Give the records that end a turn by a fault that is not the model's."""
    closed = _closed(state)
    error = TurnError(kind=kind, message=message)
    return *closed, _end(state, closed, outcome=Outcome.FAILED, error=error)


def finished(state: TurnState, *, limit: Limit | None) -> TurnFinished:
    """Give the end of a turn whose outcome its records have settled (T4, T5)."""
    answer = state.answer
    cut = answer is not None and answer.finish_reason in _CUTTING
    if answer is None or answer.tool_calls or not answer.content.strip():
        ended_by = Limit.MAX_TOKENS if cut or limit is None else limit
        return _end(state, (), outcome=Outcome.TURN_LIMIT, limit=ended_by)
    return _end(state, (), outcome=Outcome.ANSWERED, limit=limit, truncated=cut, content=answer.content)


def _left_behind(state: TurnState, partial: PartialAnswer, reason: FinishReason) -> tuple[Record, ...]:
    # Nothing was asked in this step, or nothing came: there is nothing to keep.
    if partial.completion_tokens == 0:
        return ()
    step = state.step + 1
    kept = bool(partial.content.strip())
    usage = StepUsage(
        step=step,
        prompt_tokens=partial.prompt_tokens,
        cached_tokens=partial.cached_tokens,
        completion_tokens=partial.completion_tokens,
        reasoning_tokens=partial.reasoning_tokens,
        discarded=not kept,
        estimated=True,
    )
    if not kept:
        return (usage,)
    said = Assistant(step=step, content=partial.content, reasoning=partial.reasoning, finish_reason=reason)
    return said, usage


def _text(partial: PartialAnswer) -> str | None:
    return partial.content if partial.content.strip() else None


def _end(
    state: TurnState,
    before: tuple[Record, ...],
    *,
    outcome: Outcome,
    limit: Limit | None = None,
    truncated: bool = False,
    error: TurnError | None = None,
    content: str | None = None,
) -> TurnFinished:
    for record in before:
        state = advance(state, record)
    return TurnFinished(
        outcome=outcome,
        limit=limit,
        truncated=truncated,
        error=error,
        content=content,
        steps=state.step,
        usage=state.usage,
        totals=state.totals,
    )
