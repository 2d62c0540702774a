"""The service is killed at every step, started again on its store, and nothing is lost or done twice (S4, H3, H4)."""

from __future__ import annotations

import random
import sys

import pytest

from tests.crashes.chain import Chain
from tests.crashes.kill_points import WRITE_PLACES, KillPoint
from tests.crashes.plans import Plan, places_of
from tests.crashes.playing import plans, played
from tests.crashes.scenarios import PLAIN

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no signal 9"),
]

SEED = 5
"""Of the places that are drawn; `make crashes` draws others each time."""

DRAWN = 2


@pytest.mark.rules("S4", "S1", "H3", "H4")
@pytest.mark.parametrize("scenario", PLAIN)
async def test_a_service_that_was_killed_at_any_step_goes_on_and_loses_nothing(chain: Chain, scenario: str) -> None:
    [whole] = await played(chain, [Plan(scenario=scenario)])
    places = sorted(places_of(whole.moments, whole.log))
    chosen = random.Random(f"{SEED} {scenario}").sample(places, DRAWN)

    done = await played(chain, plans(scenario, *chosen, commit_us=400))

    # What a client is shown at once is not the same each time, and so a place may not be come to.
    assert sum(one.killed for one in done) >= 1


@pytest.mark.cases(1)
@pytest.mark.rules("S4")
async def test_a_kill_while_tools_hang_leaves_each_call_with_exactly_one_answer(chain: Chain) -> None:
    both = "calls at the same time, good ones and bad ones"
    kills = (KillPoint("port charge: asked", 1), KillPoint("port look: asked", 1), KillPoint("port look: answered", 2))

    done = await played(chain, plans(both, *kills))

    statuses = [record["status"] for record in done[0].log if record["type"] == "tool_result"]
    assert [one.killed for one in done] == [1, 1, 1]
    assert "interrupted" in statuses
    assert sum(one.sent_again for one in done) > 0


@pytest.mark.rules("S4", "S1")
async def test_a_kill_around_a_write_keeps_it_whole_or_leaves_nothing_of_it(chain: Chain) -> None:
    writes = [KillPoint(f"write {place}: tool_call_started", 1) for place in WRITE_PLACES]

    done = await played(chain, plans("a tool that must not run twice, then one that may", *writes, commit_us=200))

    results = [[r["status"] for r in one.log if r["type"] == "tool_result"] for one in done]
    before, inside, _, after = results
    assert [one.killed for one in done] == [1, 1, 1, 1]
    # A call whose beginning was not kept had not been sent either.
    assert (before, inside, after) == (["ok", "ok"], ["ok", "ok"], ["interrupted", "ok"])


@pytest.mark.rules("S4")
async def test_a_turn_that_is_killed_with_the_service_four_times_in_vain_is_given_up(chain: Chain) -> None:
    [done] = await played(chain, plans("an answer", (KillPoint("model: piece", 6),) * 4))

    [end] = [record for record in done.log if record["type"] == "turn_finished"]
    assert (done.killed, end["outcome"], end["error"]["kind"]) == (4, "failed", "crashed")


@pytest.mark.rules("S4", "H4")
async def test_a_kill_while_the_service_goes_on_after_a_kill_loses_nothing(chain: Chain) -> None:
    first = KillPoint("model: piece", 10)
    again = [(first, KillPoint(f"write {place}: resumed", 1)) for place in ("before", "after")]

    done = await played(chain, plans("three messages in a queue", *again))

    assert [one.killed for one in done] == [2, 2]


@pytest.mark.rules("S4", "H4")
async def test_a_kill_between_two_turns_of_a_queue_leaves_none_waiting_for_ever(chain: Chain) -> None:
    between = (KillPoint("write after: turn_finished", 1), KillPoint("write before: user", 2))

    done = await played(chain, plans("three messages in a queue", *between))

    assert [one.killed for one in done] == [1, 1]


@pytest.mark.cases(4)
@pytest.mark.rules("S4", "L7")
async def test_a_model_that_always_fails_gets_no_more_attempts_because_of_a_kill(chain: Chain) -> None:
    kills = (KillPoint("shown: attempt", 1), KillPoint("write before: turn_finished", 1), KillPoint("model: end", 2))

    done = await played(chain, plans("a model that fails always", *kills))

    assert [sum(r["type"] == "attempt" for r in one.log) for one in done] == [2, 2, 2]


@pytest.mark.rules("S4")
async def test_the_program_itself_goes_on_after_a_kill(chain: Chain) -> None:
    at = KillPoint("model: piece", 10)

    [done] = await played(chain, [Plan(scenario="an answer", points=(at,), fresh=True)])

    assert done.killed == 1
