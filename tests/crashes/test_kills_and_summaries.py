"""The service is killed while room is made: no call loses its result, and nothing runs for ever (S4, C1)."""

from __future__ import annotations

import sys

import pytest

from tests.crashes.chain import Chain, Played
from tests.crashes.kill_points import KillPoint
from tests.crashes.logs import of_type
from tests.crashes.playing import plans, played

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no signal 9"),
]

WRITTEN = KillPoint("summary: piece", 10)


def summaries_in(done: Played) -> list[bool]:
    """Tell of each summary whether a turn was open when it was written."""
    return [record["turn"] is not None for record in of_type(done.log, "summary")]


@pytest.mark.cases(23)
@pytest.mark.rules("S4", "S1", "C1")
@pytest.mark.parametrize("when", ["steps", "turns"])
async def test_a_kill_while_a_summary_is_written_or_behind_it_makes_one_and_loses_no_call(
    chain: Chain, when: str
) -> None:
    one_by_one = (WRITTEN, KillPoint("write inside: summary", 1), KillPoint("write after: summary", 1))

    [done] = await played(chain, plans(f"room is made between {when}", one_by_one))

    assert (done.killed, summaries_in(done)) == (3, [True])


@pytest.mark.cases(23)
@pytest.mark.rules("S4", "C1")
async def test_a_turn_that_dies_with_each_of_its_summaries_is_given_up_and_the_session_goes_on(chain: Chain) -> None:
    [done] = await played(chain, plans("room is made between steps", (WRITTEN,) * 4))

    [end] = of_type(done.log, "turn_finished")
    assert (done.killed, end["outcome"], end["error"]["kind"]) == (4, "failed", "crashed")


@pytest.mark.cases(23)
@pytest.mark.rules("S4", "C1")
async def test_a_compaction_by_hand_that_was_killed_leaves_the_session_idle_and_can_be_asked_for_again(
    chain: Chain,
) -> None:
    by_hand = "room is made by hand"

    done = await played(chain, plans(by_hand, WRITTEN, KillPoint("write before: summary", 1)))

    assert [(one.killed, summaries_in(one)) for one in done] == [(1, [False]), (1, [False])]


@pytest.mark.rules("S4", "C1", "G2")
async def test_a_kill_while_room_is_made_for_another_agent_loses_nothing_of_both(chain: Chain) -> None:
    [done] = await played(chain, plans("another agent makes room", WRITTEN))

    assert (done.killed, summaries_in(done)) == (1, [True])
