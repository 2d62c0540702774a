"""Real handoffs, followed from their parents: live and replayed, over pauses, and when one of them goes (G2, H6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.ids import LOCAL_OWNER
from service.core.signals import SessionDeleted
from service.core.views import TurnState
from service.ports import NewSession, StoredRecord
from service.turns.events import SignalEvent
from service.turns.requests import ForkAsked, OnBusy
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.turns.approving import asking_port, decide, decision
from tests.turns.handing_over import AGENTS, child_session, children_of, hand_over
from tests.turns.kin import Watch, watching
from tests.web.stepped import settle

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H6", "G2")]

PAY = call("pay", '{"city": "Rome"}', id="p")


def texts(watch: Watch, session: str) -> str:
    signals = [event for event in watch.events if isinstance(event, SignalEvent) and event.session == session]
    return "".join(getattr(event.signal, "text", "") for event in signals)


@pytest.mark.cases(9)
async def test_a_handoff_followed_live_and_replayed_afterwards_gives_the_same_records() -> None:
    script = [
        Play(reasoning="An expert is needed", calls=(hand_over(),)),
        ask_for(hand_over(message="What is tea?")),
        ask_for(call("look", id="l"), content="One moment."),
        say("A plant.", reasoning="well"),
        say("Green tea, a plant."),
        say("Take green tea."),
    ]
    house = House(ScriptedLlama(*script), asking_port(), agents=AGENTS)
    session = await house.session()
    async with watching(await house.sessions.follow(session, LOCAL_OWNER, turn=None, after_pos=None)) as live:
        await live.on()
        turn = await house.start(session)
        while "turn_finished" not in [r.type for r in live.records if r.session == session]:
            await live.on()
        await house.finish(session, turn)
        child = await child_session(house, session)
        grandchild = await child_session(house, child)

    async with watching(await house.sessions.follow(session, LOCAL_OWNER, turn=None, after_pos=None)) as replayed:
        await replayed.on()

    assert live.records == replayed.records == await house.log.read_family(session, after_pos=0, limit=100)
    for member in (session, child, grandchild):
        assert [r for r in live.records if r.session == member] == await house.log.read(member)
    assert texts(live, session) == "An expert is neededTake green tea."
    assert texts(live, child) == "Green tea, a plant."
    assert texts(live, grandchild) == "One moment.wellA plant."


@pytest.mark.rules("H1", "A2", "A6")
async def test_each_request_streams_a_turn_to_its_next_pause_though_a_child_waits() -> None:
    script = [
        ask_for(hand_over()),
        ask_for(PAY),
        ask_for(call("pay", '{"city": "Oslo"}', id="q"), content="Once more."),
        say("Paid."),
        say("All done."),
    ]
    house = House(ScriptedLlama(*script), asking_port(), agents=AGENTS)
    session = await house.session()
    turn = await house.start(session)

    async with watching(
        await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None, until_pause=True)
    ) as posted:
        while not posted.ended:
            await posted.on()
    kinds: list[list[str]] = [[record.type for record in posted.records]]
    view = await house.sessions.turn(session, turn, LOCAL_OWNER)
    while view.state is TurnState.AWAITING_APPROVAL:
        decided = await decide(house, view, decision(view.pending[0]))
        async with watching(
            await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=decided.after_pos, until_pause=True)
        ) as after:
            while not after.ended:
                await after.on()
        kinds.append([record.type for record in after.records])
        view = await house.sessions.turn(session, turn, LOCAL_OWNER)

    assert [kind[-1] for kind in kinds] == ["approval_requested", "approval_requested", "turn_finished"]
    assert [kind[0] for kind in kinds] == ["user", "approval_decided", "approval_decided"]
    assert view.content == "All done."


class SlowToMake(MemoryLog):
    """A log that lets a test do something right before and right after a child is in it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may_make = asyncio.Event(), asyncio.Event()
        self.made, self.may_tell = asyncio.Event(), asyncio.Event()

    async def create_session(self, session: NewSession, *how: Any, **more: Any) -> Sequence[StoredRecord]:
        if session.parent is not None:
            self.asked.set()
            await self.may_make.wait()
        stored = await super().create_session(session, *how, **more)
        if session.parent is not None:
            self.made.set()
            await self.may_tell.wait()
        return stored


async def test_what_is_appended_to_the_parent_while_a_child_is_made_does_not_hide_its_first_records() -> None:
    house = House(
        ScriptedLlama(ask_for(hand_over()), say("Green."), say("Tea."), say("Next."), say("Last.")),
        log=(log := SlowToMake()),
        agents=AGENTS,
    )
    session = await house.session()
    async with watching(await house.sessions.follow(session, LOCAL_OWNER, turn=None, after_pos=1)) as watch:
        turn = await house.start(session)
        await log.asked.wait()
        await watch.on()
        before = await house.start(session, on_busy=OnBusy.QUEUE)
        await watch.on()
        log.may_make.set()
        await log.made.wait()
        after = await house.start(session, on_busy=OnBusy.QUEUE)
        await watch.on()
        log.may_tell.set()
        for one in (turn, before, after):
            await house.finish(session, one)
        await watch.on()

    assert watch.records == await house.log.read_family(session, after_pos=1, limit=100)


@pytest.mark.rules("H10")
async def test_a_forks_stream_holds_nothing_of_the_sources_children() -> None:
    script = [ask_for(hand_over()), say("Green."), say("Take green tea."), say("Once more.")]
    house = House(ScriptedLlama(*script), agents=AGENTS)
    session = await house.session()
    await house.run(session)
    second = await house.run(session)
    fork = await house.session(fork=ForkAsked(session=session, before=second.id))

    async with watching(await house.sessions.follow(fork, LOCAL_OWNER, turn=None, after_pos=None)) as watch:
        await watch.on()

    assert {record.session for record in watch.records} == {fork}
    assert "handoff_started" in [record.type for record in watch.records]


@pytest.mark.rules("H9")
async def test_a_deleted_child_ends_in_silence_and_a_deleted_root_ends_them_all() -> None:
    script = [ask_for(hand_over()), ask_for(hand_over()), say("Leaf."), say("Green."), say("Tea."), say("Again.")]
    house = House(ScriptedLlama(*script), agents=AGENTS)
    session = await house.session()
    await house.run(session)
    child = await child_session(house, session)
    (link,) = await children_of(house, child)
    async with watching(await house.sessions.follow(session, LOCAL_OWNER, turn=None, after_pos=None)) as watch:
        await watch.on()
        await house.sessions.delete(link.session, LOCAL_OWNER)
        await house.run(session)
        rest = await watch.on()
        assert [event.session for event in rest if isinstance(event, SignalEvent)] == [session]
        assert not watch.ended
        async with watching(await house.sessions.follow(child, LOCAL_OWNER, turn=None, after_pos=None)) as below:
            await below.on()
            await house.sessions.delete(session, LOCAL_OWNER)
            await settle()
            ends = [(await one.on())[-1] for one in (watch, below)]
            assert watch.ended
            assert below.ended

    assert [(end.session, getattr(end, "signal", None)) for end in ends] == [
        (session, SessionDeleted()),
        (child, SessionDeleted()),
    ]
