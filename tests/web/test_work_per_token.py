"""How much work a token and a turn are, counted in calls: a regression shows whatever the machine is doing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.web.counted_work import calls_of_turns

# With Python 3.11 it is 53 and 2,630, where it was 327 and 12,250 before anybody had looked; a little more is allowed.
CALLS_PER_TOKEN = 58
CALLS_PER_TURN = 2_730


@pytest.mark.timeout(120)
def test_a_token_and_a_turn_take_no_more_calls_than_they_are_allowed(tmp_path: Path) -> None:
    short, long, longer = calls_of_turns(tmp_path, 16, 200, 400)

    per_token = (longer - long) / 200
    # Each token costs the same, however many came before it.
    assert (long - short) / 184 == pytest.approx(per_token, rel=0.02)
    assert per_token <= CALLS_PER_TOKEN
    assert short - 16 * per_token <= CALLS_PER_TURN
