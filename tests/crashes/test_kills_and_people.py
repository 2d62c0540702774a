"""The service is killed while people are waited for, and around what they decide: nothing is asked twice (S4, A6)."""

from __future__ import annotations

import sys

import pytest

from tests.crashes.chain import Chain
from tests.crashes.kill_points import KillPoint
from tests.crashes.playing import plans, played, statuses_of

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no signal 9"),
]

TWO = "two calls that people decide on, beside one that needs nobody"
BY_PORT = "calls that the port asks about"


@pytest.mark.cases(7, 8)
@pytest.mark.rules("S4", "A1", "A6")
async def test_a_turn_that_waits_for_people_waits_on_after_a_kill_and_each_approved_call_runs_once(
    chain: Chain,
) -> None:
    waits, between = KillPoint("waiting", 1), KillPoint("decided", 1)

    [done] = await played(chain, plans(TWO, (waits, waits, between)))

    # Nothing was in flight at any of these places, and no start of the three was one in vain.
    assert (done.killed, statuses_of(done), done.sent_again) == (3, ["ok"] * 4, 0)
    assert not [record for record in done.log if record["type"] == "resumed"]


@pytest.mark.cases(7, 8)
@pytest.mark.rules("S4", "S1", "A2")
async def test_a_kill_around_the_record_of_the_last_decision_keeps_it_or_has_it_sent_again(chain: Chain) -> None:
    last = [KillPoint(f"write {place}: approval_decided", 2) for place in ("before", "inside", "after")]

    done = await played(chain, plans(TWO, *last))

    assert [(one.killed, statuses_of(one)) for one in done] == [(1, ["ok"] * 4)] * 3


@pytest.mark.cases(1, 8)
@pytest.mark.rules("S4", "A1")
async def test_an_approved_call_that_was_in_flight_is_sent_again_only_if_it_may_run_twice(chain: Chain) -> None:
    paying, renewing = KillPoint("port pay: asked", 1), KillPoint("port renew: asked", 1)

    for one in await played(chain, plans(TWO, paying, renewing)):
        results = {record["name"]: record["status"] for record in one.log if record["type"] == "tool_result"}
        assert (one.killed, results["renew"]) == (1, "ok")
        assert results["pay"] in ("ok", "interrupted")


@pytest.mark.cases(8)
@pytest.mark.rules("S4", "A1b")
async def test_a_call_that_the_port_wanted_approved_is_sent_a_second_time_once_and_asked_about_once(
    chain: Chain,
) -> None:
    first = (KillPoint("waiting", 1), KillPoint("port order approved: asked", 1))
    then = (KillPoint("write before: approval_requested", 1), KillPoint("port book approved: asked", 1))

    both, decided = await played(chain, plans(BY_PORT, (*first, *then), KillPoint("write after: approval_decided", 2)))

    # `book` may run twice: it is sent again with the same key, before its approval and behind it; `order` is not.
    assert (both.killed, statuses_of(both), both.sent_again) == (4, ["ok", "interrupted", "ok"], 2)
    assert (decided.killed, statuses_of(decided), decided.sent_again) == (1, ["ok"] * 3, 0)


@pytest.mark.rules("S4", "A2", "A3")
async def test_a_denial_and_changed_arguments_outlive_a_kill(chain: Chain) -> None:
    kills = (KillPoint("decided", 1), KillPoint("port renew: asked", 1))

    [done] = await played(chain, plans("a call that is denied, and one that is changed", kills))

    assert (done.killed, statuses_of(done), done.sent_again) == (2, ["denied", "ok"], 1)


@pytest.mark.rules("S4", "T13")
async def test_a_kill_around_the_cancel_of_a_turn_that_waits_leaves_nothing_waiting(chain: Chain) -> None:
    places = (KillPoint("waiting", 1), KillPoint("write inside: turn_finished", 1))

    done = await played(chain, plans("a turn that is cancelled while people are waited for", *places))

    assert [(one.killed, statuses_of(one)) for one in done] == [(1, ["cancelled", "not_run"])] * 2
