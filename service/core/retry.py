"""Which failures of a step are tried again, how often and how soon: a table, and what it takes to look it up (L7).

Waiting isn't retrying: a server that is away or loads is waited for, and that counts as no attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from service.core.errors import ContextFull, ErrorKind, ModelFailure

# Below this share of the context the overflow can't be ours: slots that share one KV cache filled it together.
OWN_SHARE = 0.9

# The waits between attempts: anything from nothing up to this, doubling to the longest, in seconds.
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 8.0


class Trouble(StrEnum):
    """What went wrong, as far as it matters for what is done next."""

    AWAY = "away"
    LOADING = "loading"
    CLOSED = "closed"
    STALLED = "stalled"
    WAITED_IN_VAIN = "waited_in_vain"
    PARSER = "parser"
    SHARED_CONTEXT = "shared_context"
    CONTEXT_FULL = "context_full"
    SERVER_ERROR = "server_error"
    REFUSED = "refused"
    TEMPLATE = "template"
    PROTOCOL = "protocol"
    EMPTY = "empty"
    THINKING_CAP = "thinking_cap"
    OTHER = "other"


class Shown(StrEnum):
    """How much of the attempt its followers have seen."""

    NOTHING = "nothing"
    TEXT = "text"


class Remedy(StrEnum):
    """What is done."""

    WAIT = "wait"
    """Give the permit back and wait until the server answers; no attempt is counted."""
    AGAIN = "again"
    AGAIN_ALONE = "again_alone"
    """Once more, while nothing else of ours runs."""
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A cell of the table.

    `at_most` is how often the remedy may be used in one step, None as often as the setting says; `forget` tells
    followers to forget the step's deltas.
    """

    remedy: Remedy
    at_most: int | None = None
    forget: bool = False


_END = Rule(remedy=Remedy.END)
_WAIT = Rule(remedy=Remedy.WAIT)


def _again(shown: Shown, *, at_most: int | None = None, alone: bool = False) -> Rule:
    remedy = Remedy.AGAIN_ALONE if alone else Remedy.AGAIN
    return Rule(remedy=remedy, at_most=at_most, forget=shown is Shown.TEXT)


def _cells(shown: Shown) -> dict[tuple[Trouble, Shown], Rule]:
    return {
        # A server that goes away in the middle shows as a closed stream: these two come before anything is shown.
        (Trouble.AWAY, shown): _WAIT,
        (Trouble.LOADING, shown): _WAIT,
        (Trouble.CLOSED, shown): _again(shown),
        (Trouble.STALLED, shown): _again(shown),
        (Trouble.WAITED_IN_VAIN, shown): _END,
        (Trouble.PARSER, shown): _again(shown),
        (Trouble.SHARED_CONTEXT, shown): _again(shown, at_most=1, alone=True),
        (Trouble.CONTEXT_FULL, shown): _END,
        # llama-server answers 500 to some faults of the request too, so one more try must do.
        (Trouble.SERVER_ERROR, shown): _again(shown, at_most=1),
        (Trouble.REFUSED, shown): _END,
        (Trouble.TEMPLATE, shown): _END,
        (Trouble.PROTOCOL, shown): _END,
        (Trouble.EMPTY, shown): _again(shown, at_most=1),
        (Trouble.THINKING_CAP, shown): _again(shown, at_most=1),
        (Trouble.OTHER, shown): _END,
    }


TABLE: dict[tuple[Trouble, Shown], Rule] = _cells(Shown.NOTHING) | _cells(Shown.TEXT)
"""Every failure under every amount shown."""

_BY_KIND = {
    ErrorKind.CONNECT: Trouble.AWAY,
    ErrorKind.LOAD_TIMEOUT: Trouble.WAITED_IN_VAIN,
    ErrorKind.WAIT_TIMEOUT: Trouble.WAITED_IN_VAIN,
    ErrorKind.STREAM_CLOSED: Trouble.CLOSED,
    ErrorKind.PROTOCOL: Trouble.PROTOCOL,
    ErrorKind.CONTEXT_FULL: Trouble.CONTEXT_FULL,
    ErrorKind.EMPTY_ANSWER: Trouble.EMPTY,
    ErrorKind.THINKING_CAP: Trouble.THINKING_CAP,
}

# What the kind of a trouble is in an `attempt` record, where it differs: so that a fold can count it.
_COUNTED_AS = {Trouble.SHARED_CONTEXT: ErrorKind.CONTEXT_FULL}

_TEMPLATE_WORDS = ("jinja", "template")
_PARSER_WORDS = ("does not match the expected", "invalid diff", "failed to parse")
_OVERFLOW_WORDS = "context size has been exceeded"
_LOADING_STATUS = 503


def trouble_of(failure: ModelFailure, *, head_seen: bool, used_tokens: int, context_tokens: int | None) -> Trouble:
    """Classify a failure.

    `head_seen` says that the server had begun to answer; `used_tokens` are the attempt's own prompt and completion.
    """
    if failure.kind is ErrorKind.STALLED:
        return Trouble.STALLED if head_seen else Trouble.WAITED_IN_VAIN
    if failure.kind in (ErrorKind.UPSTREAM_HTTP, ErrorKind.UPSTREAM_ERROR):
        return _of_server(failure, used_tokens=used_tokens, context_tokens=context_tokens)
    return _BY_KIND.get(failure.kind, Trouble.OTHER)


def _of_server(failure: ModelFailure, *, used_tokens: int, context_tokens: int | None) -> Trouble:
    said = failure.message.lower()
    if failure.kind is ErrorKind.UPSTREAM_HTTP and failure.status == _LOADING_STATUS:
        return Trouble.LOADING
    if _OVERFLOW_WORDS in said:
        shared = context_tokens is None or used_tokens < OWN_SHARE * context_tokens
        return Trouble.SHARED_CONTEXT if shared else Trouble.CONTEXT_FULL
    if failure.kind is ErrorKind.UPSTREAM_ERROR and any(words in said for words in _PARSER_WORDS):
        return Trouble.PARSER
    if any(words in said for words in _TEMPLATE_WORDS):
        return Trouble.TEMPLATE
    if failure.status is not None and failure.status < 500:
        return Trouble.REFUSED
    return Trouble.SERVER_ERROR


def counted_as(trouble: Trouble, failure: ModelFailure) -> ErrorKind:
    """Give the kind under which an attempt is kept."""
    return _COUNTED_AS.get(trouble, failure.kind)


def rule_for(
    trouble: Trouble, kind: ErrorKind, shown: Shown, *, before: Sequence[ErrorKind], retry_attempts: int
) -> Rule:
    """Look the failure up; `before` are the kinds of the attempts that this step had already.

    A rule whose uses are spent becomes the end.
    """
    rule = TABLE[trouble, shown]
    if rule.remedy in (Remedy.WAIT, Remedy.END):
        return rule
    uses = before.count(kind)
    # Asking again for an empty answer, or with less thought, is no retry of a fault and has its own bound.
    own_bound = trouble in (Trouble.EMPTY, Trouble.THINKING_CAP)
    retries = sum(kind not in (ErrorKind.EMPTY_ANSWER, ErrorKind.THINKING_CAP) for kind in before)
    spent = (rule.at_most is not None and uses >= rule.at_most) or (not own_bound and retries >= retry_attempts)
    return _END if spent else rule


def is_full(trouble: Trouble, failure: ModelFailure) -> bool:
    """Say whether the session's own context is what was too small."""
    return trouble is Trouble.CONTEXT_FULL or isinstance(failure, ContextFull)


def delay_s(attempt: int, fraction: float) -> float:
    """Give the wait before this attempt (counted from 1): full jitter over a bound that doubles."""
    return fraction * min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** (attempt - 1))
