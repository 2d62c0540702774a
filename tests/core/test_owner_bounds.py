"""K3: one below a bound is let through, as many as it says are not, and the refusal says what to do."""

from __future__ import annotations

import pytest

from service.core.errors import ProblemCode, RequestRefused
from service.core.owner_bounds import OwnerBounds

pytestmark = pytest.mark.rules("K3")

BOUNDS = OwnerBounds(sessions=5, turns=3, readings=2)


def refusal_of_turns(bounds: OwnerBounds, unfinished: int, replaced: int = 0) -> RequestRefused | None:
    try:
        bounds.check_turns(unfinished, replaced=replaced)
    except RequestRefused as refused:
        return refused
    return None


def refusal_of_readings(bounds: OwnerBounds, unfinished: int) -> RequestRefused | None:
    try:
        bounds.check_readings(unfinished)
    except RequestRefused as refused:
        return refused
    return None


@pytest.mark.parametrize(("unfinished", "is_refused"), [(0, False), (2, False), (3, True), (4, True)])
def test_a_turn_is_refused_at_the_bound(unfinished: int, is_refused: bool) -> None:
    assert (refusal_of_turns(BOUNDS, unfinished) is not None) is is_refused


@pytest.mark.parametrize(("unfinished", "is_refused"), [(3, False), (4, True)])
def test_a_turn_that_takes_the_place_of_another_is_not_one_more(unfinished: int, is_refused: bool) -> None:
    assert (refusal_of_turns(BOUNDS, unfinished, replaced=1) is not None) is is_refused


@pytest.mark.parametrize(("unfinished", "is_refused"), [(1, False), (2, True), (3, True)])
def test_a_reading_is_refused_at_the_bound(unfinished: int, is_refused: bool) -> None:
    assert (refusal_of_readings(BOUNDS, unfinished) is not None) is is_refused


def test_without_a_bound_nothing_is_refused() -> None:
    assert refusal_of_turns(OwnerBounds(), 10**6) is None
    assert refusal_of_readings(OwnerBounds(), 10**6) is None


@pytest.mark.parametrize(
    ("refused", "code", "number", "setting"),
    [
        (refusal_of_turns(BOUNDS, 3), ProblemCode.QUEUE_FULL, "3", "turns_per_owner"),
        (refusal_of_readings(BOUNDS, 2), ProblemCode.QUEUE_FULL, "2", "readings_per_owner"),
        (BOUNDS.too_many_sessions(), ProblemCode.RATE_LIMITED, "5", "sessions_per_owner"),
    ],
)
def test_a_refusal_has_the_number_the_setting_and_when_to_come_back(
    refused: RequestRefused | None, code: ProblemCode, number: str, setting: str
) -> None:
    assert refused is not None
    assert refused.code is code
    assert f" {number} " in refused.detail
    assert f"({setting})" in refused.detail
    assert refused.retry_after_s is not None
    assert refused.retry_after_s >= 1
