"""Which failures of a step are tried again: the table cell by cell, and how a failure finds its cell (L7)."""

from __future__ import annotations

import itertools

import pytest

from service.core.errors import ContextFull, ErrorKind, ModelFailure, UpstreamHttp
from service.core.retry import (
    TABLE,
    Remedy,
    Shown,
    Trouble,
    counted_as,
    delay_s,
    is_full,
    rule_for,
    trouble_of,
)

pytestmark = pytest.mark.rules("L7")

N, T = Shown.NOTHING, Shown.TEXT

# trouble: remedy, at most, and whether text that was shown is to be forgotten.
EXPECTED: dict[Trouble, tuple[Remedy, int | None, bool]] = {
    Trouble.AWAY: (Remedy.WAIT, None, False),
    Trouble.LOADING: (Remedy.WAIT, None, False),
    Trouble.CLOSED: (Remedy.AGAIN, None, True),
    Trouble.STALLED: (Remedy.AGAIN, None, True),
    Trouble.WAITED_IN_VAIN: (Remedy.END, None, False),
    Trouble.PARSER: (Remedy.AGAIN, None, True),
    Trouble.SHARED_CONTEXT: (Remedy.AGAIN_ALONE, 1, True),
    Trouble.CONTEXT_FULL: (Remedy.END, None, False),
    Trouble.SERVER_ERROR: (Remedy.AGAIN, 1, True),
    Trouble.REFUSED: (Remedy.END, None, False),
    Trouble.TEMPLATE: (Remedy.END, None, False),
    Trouble.PROTOCOL: (Remedy.END, None, False),
    Trouble.EMPTY: (Remedy.AGAIN, 1, True),
    Trouble.THINKING_CAP: (Remedy.AGAIN, 1, True),
    Trouble.OTHER: (Remedy.END, None, False),
}


@pytest.mark.parametrize(("trouble", "shown"), list(itertools.product(Trouble, Shown)))
def test_each_cell_of_the_table(trouble: Trouble, shown: Shown) -> None:
    remedy, at_most, forgets = EXPECTED[trouble]
    rule = TABLE[trouble, shown]
    assert (rule.remedy, rule.at_most, rule.forget) == (remedy, at_most, forgets and shown is T)


def failure(kind: ErrorKind, message: str = "x", status: int | None = None) -> ModelFailure:
    return ModelFailure(kind, message, status=status)


PARSER = "llama-server broke off: The model produced output that does not match the expected peg-native format"
OVERFLOW = "llama-server broke off: Context size has been exceeded."
JINJA = "llama-server answered 500: Jinja Exception: Conversation roles must alternate"


@pytest.mark.parametrize(
    ("failed", "trouble"),
    [
        (failure(ErrorKind.CONNECT), Trouble.AWAY),
        (UpstreamHttp(503, "Loading model"), Trouble.LOADING),
        (failure(ErrorKind.STREAM_CLOSED), Trouble.CLOSED),
        (failure(ErrorKind.LOAD_TIMEOUT), Trouble.WAITED_IN_VAIN),
        (failure(ErrorKind.WAIT_TIMEOUT), Trouble.WAITED_IN_VAIN),
        (failure(ErrorKind.PROTOCOL), Trouble.PROTOCOL),
        (failure(ErrorKind.UPSTREAM_ERROR, PARSER, 500), Trouble.PARSER),
        (failure(ErrorKind.UPSTREAM_ERROR, "Invalid diff: now finding less tool calls", 500), Trouble.PARSER),
        (failure(ErrorKind.UPSTREAM_ERROR, "out of memory", 500), Trouble.SERVER_ERROR),
        (failure(ErrorKind.UPSTREAM_ERROR, "no code at all"), Trouble.SERVER_ERROR),
        (failure(ErrorKind.UPSTREAM_ERROR, "slot was taken", 503), Trouble.SERVER_ERROR),
        (UpstreamHttp(500, "Failed to parse tool call arguments as JSON"), Trouble.SERVER_ERROR),
        (UpstreamHttp(502, "bad gateway"), Trouble.SERVER_ERROR),
        (UpstreamHttp(500, JINJA), Trouble.TEMPLATE),
        (UpstreamHttp(500, "Unable to generate parser for this template."), Trouble.TEMPLATE),
        (UpstreamHttp(400, "bad"), Trouble.REFUSED),
        (UpstreamHttp(401, "Invalid API Key"), Trouble.REFUSED),
        (UpstreamHttp(403, "no"), Trouble.REFUSED),
        (UpstreamHttp(404, "File Not Found"), Trouble.REFUSED),
        (ContextFull("too long", prompt_tokens=9, context_tokens=8), Trouble.CONTEXT_FULL),
        (failure(ErrorKind.EMPTY_ANSWER), Trouble.EMPTY),
        (failure(ErrorKind.THINKING_CAP), Trouble.THINKING_CAP),
        (failure(ErrorKind.INTERNAL), Trouble.OTHER),
    ],
)
def test_a_failure_finds_its_trouble(failed: ModelFailure, trouble: Trouble) -> None:
    assert trouble_of(failed, head_seen=True, used_tokens=10, context_tokens=100) is trouble


@pytest.mark.parametrize(("head_seen", "trouble"), [(True, Trouble.STALLED), (False, Trouble.WAITED_IN_VAIN)])
def test_silence_is_tried_again_only_behind_the_head(head_seen: bool, trouble: Trouble) -> None:
    stalled = failure(ErrorKind.STALLED)
    assert trouble_of(stalled, head_seen=head_seen, used_tokens=0, context_tokens=None) is trouble


@pytest.mark.parametrize(
    ("used", "context", "trouble"),
    [
        (89, 100, Trouble.SHARED_CONTEXT),
        (90, 100, Trouble.CONTEXT_FULL),
        (91, 100, Trouble.CONTEXT_FULL),
        (1_000_000, None, Trouble.SHARED_CONTEXT),
    ],
)
def test_an_overflow_is_the_slots_shared_cache_while_our_own_part_is_small(
    used: int, context: int | None, trouble: Trouble
) -> None:
    overflow = failure(ErrorKind.UPSTREAM_ERROR, OVERFLOW, 500)
    found = trouble_of(overflow, head_seen=True, used_tokens=used, context_tokens=context)
    assert found is trouble
    assert is_full(found, overflow) is (trouble is Trouble.CONTEXT_FULL)


def remedy(trouble: Trouble, kind: ErrorKind, *before: ErrorKind, attempts: int = 2) -> Remedy:
    return rule_for(trouble, kind, N, before=before, retry_attempts=attempts).remedy


CLOSED, STALLED, HTTP = ErrorKind.STREAM_CLOSED, ErrorKind.STALLED, ErrorKind.UPSTREAM_HTTP
EMPTY, CAP, FULL = ErrorKind.EMPTY_ANSWER, ErrorKind.THINKING_CAP, ErrorKind.CONTEXT_FULL


def test_retries_of_one_step_are_bounded_whatever_their_reasons() -> None:
    assert remedy(Trouble.CLOSED, CLOSED) is Remedy.AGAIN
    assert remedy(Trouble.CLOSED, CLOSED, STALLED) is Remedy.AGAIN
    assert remedy(Trouble.CLOSED, CLOSED, STALLED, CLOSED) is Remedy.END
    assert remedy(Trouble.CLOSED, CLOSED, attempts=0) is Remedy.END


def test_a_server_error_is_tried_again_once_and_an_overflow_once_alone() -> None:
    assert remedy(Trouble.SERVER_ERROR, HTTP, CLOSED) is Remedy.AGAIN
    assert remedy(Trouble.SERVER_ERROR, HTTP, HTTP) is Remedy.END
    assert remedy(Trouble.SHARED_CONTEXT, FULL) is Remedy.AGAIN_ALONE
    assert remedy(Trouble.SHARED_CONTEXT, FULL, FULL) is Remedy.END


def test_an_empty_answer_and_a_capped_thought_have_a_bound_of_their_own() -> None:
    assert remedy(Trouble.EMPTY, EMPTY, CLOSED, CLOSED) is Remedy.AGAIN
    assert remedy(Trouble.EMPTY, EMPTY, EMPTY) is Remedy.END
    assert remedy(Trouble.THINKING_CAP, CAP, EMPTY, attempts=0) is Remedy.AGAIN
    assert remedy(Trouble.THINKING_CAP, CAP, CAP) is Remedy.END
    assert remedy(Trouble.CLOSED, CLOSED, EMPTY, CAP, CLOSED) is Remedy.AGAIN


def test_waiting_is_never_spent() -> None:
    assert remedy(Trouble.AWAY, ErrorKind.CONNECT, CLOSED, CLOSED, CLOSED, attempts=0) is Remedy.WAIT


def test_an_overflow_of_the_shared_cache_is_counted_apart_from_other_errors() -> None:
    overflow = failure(ErrorKind.UPSTREAM_ERROR, OVERFLOW)
    assert counted_as(Trouble.SHARED_CONTEXT, overflow) is FULL
    assert counted_as(Trouble.PARSER, overflow) is ErrorKind.UPSTREAM_ERROR


def test_waits_double_up_to_a_longest_and_are_spread_down_to_nothing() -> None:
    assert [delay_s(attempt, 1.0) for attempt in range(1, 8)] == [0.5, 1, 2, 4, 8, 8, 8]
    assert delay_s(3, 0.0) == 0
    assert delay_s(3, 0.25) == 0.5
