"""Over generated conversations each prompt extends the one before and is well-formed, whatever happens (P2, P4).

`make conversations` plays a hundred thousand.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from random import SystemRandom

import pytest
import structlog

from service.core.records import Limit, OnToolLimit, Outcome, TurnFinished
from tests.conversations.batches import be_quiet, run_all
from tests.conversations.driver import play
from tests.conversations.generator import made
from tests.conversations.judgement import extends, judge
from tests.conversations.plan import Blow, CallPlan, Conversation, Manner, Moment, PlayPlan, Strike, TurnPlan, Word
from tests.conversations.smallest import smallest
from tests.conversations.spread import EXPECTED, ingredients

pytestmark = pytest.mark.usefixtures("quiet_logs")

CONVERSATIONS = 500
SAMPLE = 1_000
SAMPLE_SEED = 10
HANDOFF = '{"agent": "expert", "message": "Go on."}'


@pytest.fixture(scope="module")
def quiet_logs() -> Iterator[None]:
    before = structlog.get_config()
    be_quiet()
    yield
    structlog.configure(**before)


@pytest.mark.timeout(600)
@pytest.mark.rules("P1", "P2", "P3", "P4", "P8", "T5", "T8", "T12", "T13", "S4", "S5")
@pytest.mark.rules("A1", "A1b", "A2", "A3", "A4", "A6", "A7", "G2", "C1")
def test_each_prompt_extends_the_one_before_and_is_well_formed() -> None:
    seed = SystemRandom().randrange(2**32)

    checked = 0
    for batch in run_all(seed, CONVERSATIONS, processes=os.cpu_count() or 1):
        assert batch.defect is None, str(batch.defect)
        checked += batch.checked

    assert checked == CONVERSATIONS


@pytest.mark.timeout(300)
def test_the_generated_conversations_leave_nothing_out() -> None:
    spread = Counter[str]()
    for batch in run_all(SAMPLE_SEED, SAMPLE, processes=os.cpu_count() or 1):
        assert batch.defect is None, str(batch.defect)
        spread += batch.spread

    assert [word for word in EXPECTED if spread[word] < 3] == []


@pytest.mark.anyio
@pytest.mark.rules("T5")
@pytest.mark.parametrize("on_tool_limit", OnToolLimit)
async def test_a_model_that_calls_tools_where_there_are_none_is_stopped(on_tool_limit: OnToolLimit) -> None:
    calls = PlayPlan(calls=(CallPlan(),))
    turn = TurnPlan(plays=(calls,), endless=True, on_tool_limit=on_tool_limit, limits={"tool_iterations": 2})

    played = await play(Conversation((turn,), tools=()))

    judge(played)
    ends = [entry.record for entry in played.entries if isinstance(entry.record, TurnFinished)]
    assert (ends[0].outcome, ends[0].limit) == (Outcome.TURN_LIMIT, Limit.TOOL_ITERATIONS)


def test_the_same_numbers_make_the_same_conversation() -> None:
    assert made(7, 11) == made(7, 11)
    assert made(7, 11) != made(7, 12)


@pytest.mark.parametrize(
    ("earlier", "later", "is_extended"),
    [
        ("[]", '[{"a": 1}]', True),
        ('[{"a": 1}]', '[{"a": 1}]', True),
        ('[{"a": 1}]', '[{"a": 1}, {"b": 2}]', True),
        ('[{"a": 1}]', '[{"a": 12}]', False),
        ('[{"a": 1}, {"b": 2}]', '[{"a": 1}]', False),
    ],
)
def test_only_whole_messages_extend_a_prompt(earlier: str, later: str, is_extended: bool) -> None:
    assert extends(earlier, later) is is_extended


def test_a_conversation_that_fails_is_made_small() -> None:
    plays = (PlayPlan("Yes."), PlayPlan(calls=(CallPlan("long"), CallPlan("weather"))))
    turns = (TurnPlan("One"), TurnPlan("Two", plays, strikes=(Strike(Blow.KILL, Moment.WRITTEN, 9, 40),)))

    small = smallest(
        Conversation(turns, profile="ids of nine"), lambda plan: "KILL" in str(plan) and "long" in str(plan)
    )

    call, strike = CallPlan("long"), Strike(Blow.KILL)
    assert small == Conversation((TurnPlan(plays=(PlayPlan(calls=(call,)),), strikes=(strike,)),))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("blow", "at", "call", "had"),
    [
        (Blow.CANCEL, Moment.WAITING, CallPlan("asks"), "an approval was cancelled"),
        (Blow.STOP, Moment.DECIDED, CallPlan("asks"), "outcome: answered"),
        (Blow.KILL, Moment.CREATING, CallPlan("handoff_to", HANDOFF), "a child answered"),
        (Blow.STORE, Moment.CREATING, CallPlan("handoff_to", HANDOFF), "failed: store"),
        (Blow.CANCEL_CHILD, Moment.HANDED, CallPlan("handoff_to", HANDOFF), "a child cancelled"),
    ],
)
async def test_a_strike_comes_where_people_or_other_agents_are_waited_for(
    blow: Blow, at: Moment, call: CallPlan, had: str
) -> None:
    strike = Strike(blow, at, 0, 40)
    turn = TurnPlan(plays=(PlayPlan(calls=(call,)),), strikes=(strike,))

    played = await play(Conversation((turn,), agents=True))

    judge(played)
    assert played.struck == [strike]
    assert had in ingredients(played)


@pytest.mark.anyio
async def test_people_who_say_nothing_let_an_approval_expire() -> None:
    turn = TurnPlan(plays=(PlayPlan(calls=(CallPlan("asks"),)),), words=(Word(Manner.NOBODY),))

    played = await play(Conversation((turn,), approval_wait_s=60))

    judge(played)
    assert "an approval expired" in ingredients(played)


@pytest.mark.anyio
async def test_a_strike_comes_at_its_moment() -> None:
    strike = Strike(Blow.CANCEL, Moment.RUNNING, 0, 40)
    turn = TurnPlan(plays=(PlayPlan(calls=(CallPlan(), CallPlan("send"))),), strikes=(strike,))

    played = await play(Conversation((turn,)))

    assert played.struck == [strike]
    assert "result: cancelled" in ingredients(played)
