"""The service is killed while another agent answers: one child, one end, one answer (S4, G2)."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from tests.crashes.chain import Chain, Played
from tests.crashes.kill_points import KillPoint
from tests.crashes.playing import plans, played, statuses_of

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no signal 9"),
]

ANSWERS = "another agent answers"
ASKS = "another agent asks people"


def resumed_in(done: Played) -> list[str]:
    """Name who was gone on with: the parent, whose log is the first, or a child."""
    parent = done.log[0]["session"]
    return ["parent" if r["session"] == parent else "child" for r in done.log if r["type"] == "resumed"]


@pytest.mark.rules("S4", "G2", "S1")
async def test_a_kill_around_the_birth_of_a_child_leaves_exactly_one(chain: Chain) -> None:
    births = (
        KillPoint("write before: handoff_started", 1),
        KillPoint("write after: handoff_started", 1),
        KillPoint("write inside: session_created", 2),
        KillPoint("write after: session_created", 2),
    )

    done = await played(chain, plans(ANSWERS, *births))

    for one in done:
        kinds = Counter(record["type"] for record in one.log)
        assert (one.killed, kinds["handoff_started"], kinds["session_created"]) == (1, 1, 2)


@pytest.mark.rules("S4", "G2")
@pytest.mark.cases(1, 9)
async def test_a_child_that_was_killed_with_its_parent_goes_on_and_its_parent_only_waits(chain: Chain) -> None:
    streams, runs = KillPoint("expert: piece", 6), KillPoint("port look: asked", 1)

    streaming, running = await played(chain, plans(ANSWERS, streams, (streams, runs)))

    assert (streaming.killed, resumed_in(streaming), statuses_of(streaming)) == (1, ["child"], ["ok"] * 3)
    assert (running.killed, resumed_in(running), running.sent_again) == (2, ["child", "child"], 1)


@pytest.mark.rules("S4", "G2")
async def test_an_answer_arrives_once_wherever_between_two_logs_the_service_dies(chain: Chain) -> None:
    on_the_way = (
        KillPoint("write after: turn_finished", 1),
        KillPoint("write inside: handoff_returned", 1),
        KillPoint("write after: handoff_returned", 1),
    )

    done = await played(chain, plans(ANSWERS, *on_the_way))

    assert [(one.killed, statuses_of(one)[-1]) for one in done] == [(1, "ok")] * 3
    assert [sum(record["type"] == "handoff_returned" for record in one.log) for one in done] == [1, 1, 1]


@pytest.mark.rules("S4", "G2", "A6")
@pytest.mark.cases(7, 8)
async def test_a_child_that_waits_for_people_waits_on_after_a_kill_with_its_parent(chain: Chain) -> None:
    waits, decided = KillPoint("waiting", 1), KillPoint("write after: approval_decided", 1)
    again = KillPoint("write after: approval_decided", 1)

    done = await played(chain, plans(ASKS, waits, (decided, again)))

    assert [(one.killed, statuses_of(one)) for one in done] == [(1, ["ok"] * 4), (2, ["ok"] * 4)]


@pytest.mark.rules("S4", "G2")
async def test_kills_two_agents_deep_leave_each_handoff_one_child(chain: Chain) -> None:
    deep = (KillPoint("write after: session_created", 3), KillPoint("waiting", 1), KillPoint("expert: piece", 2))

    [done] = await played(chain, plans("another agent hands over itself", deep))

    assert done.killed == 3


@pytest.mark.rules("S4", "T13")
async def test_a_kill_around_the_cancel_of_a_child_and_its_parent_ends_both(chain: Chain) -> None:
    cancelled = "a turn that is cancelled while another agent answers"
    ends = (KillPoint("write after: turn_finished", 1), KillPoint("write before: turn_finished", 2))

    done = await played(chain, plans(cancelled, *ends))

    assert [one.killed for one in done] == [1, 1]
