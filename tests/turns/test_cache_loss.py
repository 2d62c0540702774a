"""A completion that finds less in the server's cache than it should is told with the reason (P5, T3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.core.ids import SessionId
from service.core.records import (
    Assistant,
    CacheLoss,
    CacheLossReason,
    StepUsage,
    ToolCallStarted,
    ToolResult,
    TurnFinished,
)
from service.core.slot_state import SlotState
from service.turns import cache_watch
from tests.fakes.house import House
from tests.fakes.llama import GONE, PROFILE, Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("P5")]

LONG = "word " * 100


def lost(text: str = "Late.", **other: object) -> Play:
    """A completion that finds nothing in the cache."""
    return say(text, cached_tokens=0, **other)


async def losses(house: House, session: SessionId) -> list[CacheLoss]:
    return [record for record in await house.records(session) if isinstance(record, CacheLoss)]


async def one_loss(house: House, session: SessionId) -> CacheLoss:
    (loss,) = await losses(house, session)
    return loss


async def test_nothing_is_told_while_the_cache_holds() -> None:
    port = TablePort(spec("weather"))
    house = House(ScriptedLlama(ask_for(call("weather")), say(LONG), ask_for(call("weather")), say(LONG)), port)
    session = await house.session()
    for _ in range(2):
        await house.run(session, LONG)
    assert await losses(house, session) == []


@pytest.mark.rules("T3")
async def test_a_loss_stands_behind_the_usage_of_its_completion() -> None:
    house = House(ScriptedLlama(say(LONG), lost()))
    session = await house.session()
    await house.run(session, "One")
    await house.run(session, "Two")

    records = await house.records(session)
    first = next(record for record in records if isinstance(record, StepUsage))
    assert [type(record) for record in records[-4:]] == [Assistant, StepUsage, CacheLoss, TurnFinished]
    expected = first.prompt_tokens + first.completion_tokens
    assert await one_loss(house, session) == CacheLoss(
        step=1, expected_tokens=expected, cached_tokens=0, lost_tokens=expected, reason=CacheLossReason.UNKNOWN
    )


@pytest.mark.rules("T3")
async def test_a_loss_between_steps_stands_before_the_calls_that_follow() -> None:
    script = [say(LONG), Play(calls=(call("weather"),), cached_tokens=0), say("Sunny.")]
    house = House(ScriptedLlama(*script), TablePort(spec("weather")))
    session = await house.session()
    await house.run(session, "One")
    await house.run(session, "Two")

    kinds = [type(record) for record in await house.records(session)]
    at = kinds.index(CacheLoss)
    assert kinds[at - 2 : at + 3] == [Assistant, StepUsage, CacheLoss, ToolCallStarted, ToolResult]


async def test_counts_of_our_own_accuse_nobody() -> None:
    house = House(ScriptedLlama(say(LONG), lost(estimated=True)))
    session = await house.session()
    await house.run(session, "One")
    await house.run(session, "Two")
    assert await losses(house, session) == []


async def test_a_loss_within_the_slack_is_not_told() -> None:
    llama = ScriptedLlama(say(LONG, prompt_tokens=1000, completion_tokens=100), say("Two.", cached_tokens=1036))
    house = House(llama)
    session = await house.session()
    await house.run(session, "One")
    await house.run(session, "Two")
    assert await losses(house, session) == []


async def test_a_server_that_was_away_was_restarted() -> None:
    house = House(ScriptedLlama(say(LONG), Play(at_once=GONE), lost()))
    session = await house.session()
    await house.run(session, "One")
    await house.run(session, "Two")
    assert (await one_loss(house, session)).reason is CacheLossReason.SERVER_RESTARTED


async def test_a_restart_that_nobody_saw_is_told_by_the_numbers_of_the_servers_tasks() -> None:
    class Restarting(ScriptedLlama):
        def restart(self) -> None:
            self.tasks = 0

    llama = Restarting(say(LONG), say(LONG), lost(), lost())
    house = House(llama)
    session = await house.session()
    await house.run(session, "One")
    await house.run(session, "Two")
    llama.restart()
    await house.run(session, "Three")
    await house.run(session, "Four")

    reasons = [loss.reason for loss in await losses(house, session)]
    assert reasons == [CacheLossReason.SERVER_RESTARTED, CacheLossReason.UNKNOWN]


async def test_every_session_that_had_something_in_a_restarted_server_is_told_so() -> None:
    llama = ScriptedLlama(say(LONG), say(LONG), Play(at_once=GONE), lost(), lost())
    house = House(llama)
    first, second = await house.session(), await house.session()
    for session in (first, second, first, second):
        await house.run(session, LONG)
    for session in (first, second):
        assert (await one_loss(house, session)).reason is CacheLossReason.SERVER_RESTARTED


@pytest.mark.rules("L10")
async def test_another_template_is_the_reason_also_when_it_came_with_a_restart() -> None:
    llama = ScriptedLlama(say(LONG), Play(at_once=GONE), lost())
    house = House(llama)
    session = await house.session()
    await house.run(session, "One")
    # Of what it can do nothing is expected; what its predecessor had kept is lost all the same.
    other = replace(PROFILE, hash="template-2", keeps_turns=False, keeps_steps=False)
    llama.server = replace(llama.server, template=other)
    await house.run(session, "Two")
    assert (await one_loss(house, session)).reason is CacheLossReason.TEMPLATE_CHANGED


@pytest.mark.rules("L10")
async def test_a_template_that_changed_while_the_session_was_idle_is_the_reason_once() -> None:
    llama = ScriptedLlama(say(LONG), lost(LONG), lost(LONG))
    house = House(llama)
    session = await house.session()
    await house.run(session, "One")
    llama.server = replace(llama.server, template=replace(PROFILE, hash="template-2"))
    house.turns.server.was_away()
    await house.run(session, "Two")
    await house.run(session, "Three")
    reasons = [loss.reason for loss in await losses(house, session)]
    assert reasons == [CacheLossReason.TEMPLATE_CHANGED, CacheLossReason.UNKNOWN]


async def test_a_template_that_rewrites_history_is_found_by_its_renderings() -> None:
    llama = ScriptedLlama(say(LONG), lost())
    llama.rewrites = True
    house = House(llama)
    session = await house.session()
    await house.run(session, "One")
    await house.run(session, "Two")
    assert (await one_loss(house, session)).reason is CacheLossReason.TEMPLATE_REWRITES_HISTORY


async def test_a_template_that_is_known_to_rewrite_finished_turns_loses_nothing_by_it() -> None:
    llama = ScriptedLlama(ask_for(call("weather")), say(LONG), say("Two.", cached_tokens=30))
    llama.server = replace(llama.server, template=replace(PROFILE, keeps_turns=False))
    house = House(llama, TablePort(spec("weather")))
    session = await house.session()
    await house.run(session, "One")
    await house.run(session, "Two")
    assert await losses(house, session) == []


@pytest.mark.parametrize(("slots", "reason"), [(1, CacheLossReason.SLOT_TAKEN), (2, CacheLossReason.UNKNOWN)])
async def test_a_slot_is_taken_when_more_sessions_ran_than_there_are_slots(slots: int, reason: CacheLossReason) -> None:
    house = House(ScriptedLlama(say(LONG), say("Other."), lost(), slots=slots))
    session, other = await house.session(), await house.session()
    await house.run(session, "One")
    await house.run(other, "One")
    await house.run(session, "Two")
    assert (await one_loss(house, session)).reason is reason


async def test_a_server_that_can_not_be_asked_leaves_the_reason_open() -> None:
    class Mute(ScriptedLlama):
        async def slots(self) -> list[SlotState]:
            raise GONE

        async def render(self, request: object) -> str:
            raise GONE

    house = House(Mute(say(LONG), lost()))
    session = await house.session()
    await house.run(session, "One")
    await house.run(session, "Two")
    assert (await one_loss(house, session)).reason is CacheLossReason.UNKNOWN


async def test_only_so_many_sessions_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_watch, "SESSIONS_KEPT", 1)
    house = House(ScriptedLlama(say(LONG), say("Other."), lost(), slots=1))
    session, other = await house.session(), await house.session()
    await house.run(session, "One")
    await house.run(other, "One")
    await house.run(session, "Two")
    assert (await one_loss(house, session)).reason is CacheLossReason.UNKNOWN
