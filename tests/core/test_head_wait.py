"""The wait for the first byte: both tables of the rule, row by row, and the time between (L2). Seconds are made up."""

from __future__ import annotations

import pytest

from service.core.completion_events import StillWaiting, WaitReason
from service.core.errors import ErrorKind, ModelFailure
from service.core.head_wait import PATIENCE, STATE_OF, HeadState, HeadWait, Sight, sight_of_status

pytestmark = pytest.mark.rules("L2")

SIGHTS = [
    (Sight.FIRST_BYTES, HeadState.IDLE),
    (Sight.NO_SLOT_WORKS, HeadState.IDLE),
    (Sight.A_SLOT_WORKS, HeadState.BUSY),
    (Sight.REFUSED, HeadState.BUSY),
    (Sight.UNTOLD, HeadState.BUSY),
    (Sight.LOADING, HeadState.UNAVAILABLE),
    (Sight.UNREACHABLE, HeadState.UNAVAILABLE),
    (Sight.SILENT, HeadState.UNAVAILABLE),
]

STATES = [
    (HeadState.BUSY, WaitReason.SLOT_BUSY, 600, ErrorKind.WAIT_TIMEOUT, "for 600 s (busy_wait_ms)"),
    (HeadState.UNAVAILABLE, WaitReason.LOADING, 300, ErrorKind.LOAD_TIMEOUT, "for 300 s (load_wait_ms)"),
    (HeadState.IDLE, WaitReason.IDLE, 30, ErrorKind.STALLED, "for 30 s (idle_grace_ms)"),
]

A_SIGHT = {state: sight for sight, state in SIGHTS}


def a_wait() -> HeadWait:
    return HeadWait(busy_wait_ms=600_000, load_wait_ms=300_000, idle_grace_ms=30_000)


def failure_at(wait: HeadWait, now: float) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        wait.check(now)
    return caught.value


def test_the_tables_have_no_row_that_is_not_named_here() -> None:
    assert dict(SIGHTS) == STATE_OF
    assert {state for state, *_ in STATES} == set(PATIENCE) == set(HeadState)


@pytest.mark.parametrize(("sight", "state"), SIGHTS, ids=[sight.name for sight, _ in SIGHTS])
def test_what_is_seen_is_told_as_its_state(sight: Sight, state: HeadState) -> None:
    reasons = {HeadState.IDLE: "idle", HeadState.BUSY: "slot_busy", HeadState.UNAVAILABLE: "loading"}

    assert a_wait().look(sight, 1000).reason == reasons[state]


@pytest.mark.parametrize(
    ("status", "sight"),
    [
        (401, Sight.REFUSED),
        (403, Sight.REFUSED),
        (404, Sight.REFUSED),
        (501, Sight.REFUSED),
        (503, Sight.LOADING),
        (502, Sight.UNREACHABLE),
        (504, Sight.SILENT),
        (400, Sight.UNTOLD),
        (500, Sight.UNTOLD),
        (302, Sight.UNTOLD),
        (204, Sight.UNTOLD),
    ],
)
def test_a_status_of_the_slots_says_what_it_shows(status: int, sight: Sight) -> None:
    assert sight_of_status(status) is sight


@pytest.mark.parametrize(("state", "reason", "bound_s", "kind", "says"), STATES, ids=[row[0].name for row in STATES])
def test_a_state_may_last_for_its_time_and_then_is_its_failure(
    state: HeadState, reason: WaitReason, bound_s: float, kind: ErrorKind, says: str
) -> None:
    wait = a_wait()
    sight = A_SIGHT[state]

    assert wait.look(sight, 1000) == StillWaiting(reason=reason, waited_ms=0)
    assert wait.deadline == 1000 + bound_s
    before = bound_s - 0.001
    assert wait.look(sight, 1000 + before) == StillWaiting(reason=reason, waited_ms=round(before * 1000))
    wait.check(1000 + before)
    for failure in (failure_at(wait, 1000 + bound_s), failure_at(wait, 1000 + bound_s + 5)):
        assert failure.kind is kind
        assert failure.message.startswith("llama-server did not begin to answer")
        assert failure.message.endswith(says)
    with pytest.raises(ModelFailure, match="llama-server"):
        wait.look(sight, 1000 + bound_s)


def test_before_the_first_look_nothing_is_known_and_nothing_fails() -> None:
    wait = a_wait()

    assert wait.deadline is None
    wait.check(1e9)


@pytest.mark.parametrize("first", HeadState)
@pytest.mark.parametrize("second", HeadState)
def test_the_time_counts_from_the_last_change_of_the_state(first: HeadState, second: HeadState) -> None:
    wait = a_wait()
    wait.look(A_SIGHT[first], 1000)
    wait.look(A_SIGHT[second], 1020)
    told = wait.look(A_SIGHT[second], 1025)

    assert told.waited_ms == (25_000 if first is second else 5_000)


def test_a_break_of_one_look_begins_the_time_anew() -> None:
    wait = a_wait()
    for now in range(1000, 1030, 2):
        wait.look(Sight.NO_SLOT_WORKS, now)
    wait.look(Sight.A_SLOT_WORKS, 1029.9)

    assert wait.look(Sight.NO_SLOT_WORKS, 1031).waited_ms == 0
    assert wait.look(Sight.NO_SLOT_WORKS, 1060.9).waited_ms == 29_900
    assert failure_at(wait, 1061).kind is ErrorKind.STALLED


def test_another_sight_of_the_same_state_is_no_break() -> None:
    wait = a_wait()
    wait.look(Sight.LOADING, 1000)
    wait.look(Sight.UNREACHABLE, 1100)

    assert wait.look(Sight.SILENT, 1299).waited_ms == 299_000
    assert failure_at(wait, 1300).kind is ErrorKind.LOAD_TIMEOUT


def test_a_state_that_changed_in_time_is_not_judged_by_the_one_before() -> None:
    wait = a_wait()
    wait.look(Sight.NO_SLOT_WORKS, 1000)

    assert wait.look(Sight.A_SLOT_WORKS, 1031) == StillWaiting(reason=WaitReason.SLOT_BUSY, waited_ms=0)


@pytest.mark.parametrize("since", [0.1, 1234.567, 86_400.3])
def test_the_deadline_is_the_first_moment_of_the_failure(since: float) -> None:
    wait = HeadWait(busy_wait_ms=50, load_wait_ms=50, idle_grace_ms=70)
    wait.look(Sight.NO_SLOT_WORKS, since)
    assert wait.deadline is not None

    assert failure_at(wait, wait.deadline).message.endswith("for 0.07 s (idle_grace_ms)")
