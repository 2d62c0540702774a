"""The sentences in which `turnkeeper chat` explains what happens in a turn. All foreign text in them is visible."""

from __future__ import annotations

from collections.abc import Iterator

from service.cli.words import counted, first_line, seconds_in_words
from service.core.baseline import Limits
from service.core.errors import ErrorKind
from service.core.records import (
    ApprovalDecided,
    CacheLoss,
    CacheLossReason,
    HandoffReturned,
    HandoffStarted,
    Limit,
    Outcome,
    Summary,
    ToolResult,
    TurnFinished,
)
from service.core.signals import Progress, Queued, Waiting
from service.core.visible import visible

NAME_SHOWN = 100
ARGUMENTS_SHOWN = 300
_TEXT_SHOWN = 2000

_WAITING = {
    "slot_busy": "waits for a free slot of the model's server",
    "idle": "waits for the model's server to begin",
    "loading": "the model is being loaded",
}
_LOSSES = {
    CacheLossReason.COMPACTED: "the session was summarised, so its prompt begins in another way",
    CacheLossReason.SERVER_RESTARTED: "the model's server was started again",
    CacheLossReason.TEMPLATE_CHANGED: "the model's chat template has changed",
    CacheLossReason.TEMPLATE_REWRITES_HISTORY: "the model's chat template rewrites earlier messages",
    CacheLossReason.SLOT_TAKEN: "another session took the slot meanwhile",
    CacheLossReason.UNKNOWN: "the server does not tell why",
}


def waiting_in_words(signal: Queued | Waiting | Progress) -> str:
    """Say what the turn waits for."""
    match signal:
        case Queued():
            return f"waits in the queue, at place {signal.position}"
        case Waiting():
            waited = f" ({seconds_in_words(signal.waited_ms / 1000)})" if signal.waited_ms >= 1000 else ""
            return f"{_WAITING.get(signal.reason, 'waits')}{waited}"
        case Progress():
            cached = f", {signal.cached} of them from the cache" if signal.cached else ""
            share = f" ({100 * signal.processed // signal.total} %)" if signal.total > 0 else ""
            return f"the model reads: {signal.processed} of {signal.total} tokens{share}{cached}"


def thinking_in_words(tokens: int, cap: int | None) -> str:
    """Say how long the model has been thinking, by a guess; `cap` is the limit thinking_tokens."""
    return f"about {tokens} of at most {cap} tokens" if cap else f"about {counted(tokens, 'token')}"


def retrying_in_words(kind: ErrorKind, *, had_text: bool) -> str:
    """Say why a step is tried again."""
    forget = "; forget what it has said in this step" if had_text else ""
    return f"retrying: the model's server failed ({kind.value.replace('_', ' ')}), so the step is asked again{forget}"


def loss_in_words(loss: CacheLoss) -> str:
    """Say what a lost cache costs, and why it was lost."""
    return (
        f"cache loss: the model's server read {counted(loss.lost_tokens, 'token')} again that it had read before, "
        f"because {_LOSSES[loss.reason]}; that costs time only"
    )


def call_in_words(name: str, arguments: str) -> str:
    """Give a call in one line."""
    return f"{visible(name, NAME_SHOWN)} {visible(arguments, ARGUMENTS_SHOWN)}"


def result_in_words(result: ToolResult, seconds: float | None) -> str:
    """Give the result of a call in one line: its status, its labels, how long it took and how it begins."""
    labels = [result.data_class.value]
    labels += ["from outside"] if result.untrusted else []
    labels += [f"cut to {result.cap} of {result.original_bytes} bytes"] if result.truncated else []
    labels += [f"{seconds:.1f} s"] if seconds is not None else []
    status = result.status.value.replace("_", " ")
    return f"{visible(result.name, NAME_SHOWN)} {status} ({', '.join(labels)}): {first_line(result.content)}"


def decision_in_words(decided: ApprovalDecided) -> str:
    """Say what was decided, and by whom."""
    said = "approved" if decided.approved else "denied"
    changed = " with other arguments" if decided.arguments is not None else ""
    reason = f": {first_line(decided.reason)}" if decided.reason else ""
    return f"call {decided.call} was {said}{changed} by {visible(decided.by, NAME_SHOWN)}{reason}"


def handoff_in_words(handoff: HandoffStarted | HandoffReturned) -> str:
    """Say who works on it now."""
    if isinstance(handoff, HandoffStarted):
        session = visible(handoff.child.session, NAME_SHOWN)
        return f"handed over to the agent {visible(handoff.agent, NAME_SHOWN)}, in session {session}"
    outcome = "its session was deleted" if handoff.outcome is None else handoff.outcome.value.replace("_", " ")
    return f"the other agent is back: {outcome}"


def summary_in_words(summary: Summary) -> str:
    """Say what became shorter."""
    return (
        "the context is nearly full, so the oldest part of the session was summarised: "
        f"{summary.tokens_before} tokens became {summary.tokens_after}"
    )


def limit_in_words(limit: Limit, limits: Limits | None) -> str:
    """Say which limit it was, and what it is set to where that is known."""
    bounds = limits or Limits()
    match limit:
        case Limit.TOOL_ITERATIONS:
            return f"the limit tool_iterations: {counted(bounds.tool_iterations, 'batch')} of calls in one turn"
        case Limit.REPEATED_CALL:
            return "the limit repeat_detection: the model made the same call again and again"
        case Limit.DENIED_REPEATEDLY:
            return f"the limit denied_repeats: a denied call came again in {counted(bounds.denied_repeats, 'step')}"
        case Limit.MAX_TOKENS:
            return f"the limit max_tokens: {bounds.max_tokens} tokens were not enough for an answer"
        case Limit.TURN_TIME:
            return f"the limit turn_time_s: the turn had {seconds_in_words(bounds.turn_time_s)}"


def outcome_in_words(end: TurnFinished, limits: Limits | None) -> Iterator[tuple[str, bool]]:
    """Say how a turn ended where that is not plain; True marks what means that there is no answer."""
    match end.outcome:
        case Outcome.ANSWERED:
            if end.limit is not None:
                yield f"the answer was asked for at {limit_in_words(end.limit, limits)}", False
        case Outcome.TURN_LIMIT:
            limit = "a limit" if end.limit is None else limit_in_words(end.limit, limits)
            yield f"the turn ended at {limit}", True
        case Outcome.SESSION_FULL:
            yield "the session is full: its context has no room for more; go on in a new one", True
        case Outcome.CANCELLED:
            yield "the turn was cancelled", True
        case Outcome.FAILED:
            error = end.error
            why = "" if error is None else f": {error.kind.value}: {visible(error.message, _TEXT_SHOWN)}"
            yield f"the turn failed{why}", True
    if end.truncated:
        yield "the answer was cut at its longest", False
