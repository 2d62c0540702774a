"""The gate bounds completions in flight, in order of arrival, and loses no permit (L9)."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.access.gate import Gate, Holder
from service.core.ids import SessionId, TurnId

pytestmark = pytest.mark.rules("L9")

MOVES = ["come", "come alone", "come aside", "leave", "cancel", "let pass"]
HOLDER = Holder(session=SessionId("ses_1"), turn=TurnId("trn_1"), step=1)


class Guest:
    """One that wants a permit and tells where it is."""

    def __init__(self, gate: Gate, *, alone: bool = False, aside: bool = False) -> None:
        self.alone = alone
        self.aside = aside
        self.positions: list[int] = []
        self.inside = asyncio.Event()
        self.may_leave = asyncio.Event()
        self.task = asyncio.create_task(self._visit(gate))

    async def _visit(self, gate: Gate) -> None:
        async with gate.permit(HOLDER, self.positions.append, alone=self.alone, aside=self.aside):
            self.inside.set()
            await self.may_leave.wait()

    async def leave(self) -> None:
        self.may_leave.set()
        await self.task


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.anyio
async def test_a_free_permit_is_given_without_a_queue() -> None:
    guest = Guest(Gate(1))
    await guest.inside.wait()
    await guest.leave()
    assert guest.positions == []


@pytest.mark.anyio
async def test_who_comes_first_is_served_first_and_hears_its_position_as_it_changes() -> None:
    gate = Gate(1)
    guests = [Guest(gate) for _ in range(4)]
    await settle()
    for guest in guests:
        await guest.inside.wait()
        await guest.leave()
    assert [guest.positions for guest in guests] == [[], [1], [2, 1], [3, 2, 1]]
    assert (gate.in_use, gate.waiting, gate.holders, gate.queued) == (0, 0, (), ())


@pytest.mark.anyio
async def test_one_that_is_cancelled_in_the_queue_leaves_it_at_once_and_the_others_move_up() -> None:
    gate = Gate(1)
    first, second, third, fourth = Guest(gate), Guest(gate), Guest(gate), Guest(gate)
    await settle()
    fourth.task.cancel()
    second.task.cancel()
    await settle()
    assert (gate.waiting, second.positions, third.positions) == (1, [1], [2, 1])
    await first.leave()
    await third.inside.wait()
    await third.leave()
    assert gate.in_use == 0


@pytest.mark.anyio
async def test_a_permit_that_was_granted_to_one_just_cancelled_goes_to_the_next() -> None:
    gate = Gate(1)
    first, second, third = Guest(gate), Guest(gate), Guest(gate)
    await settle()
    first.may_leave.set()
    await asyncio.wait({first.task})
    second.task.cancel()
    await asyncio.wait({second.task})
    await third.inside.wait()
    await third.leave()
    assert (gate.in_use, gate.waiting) == (0, 0)


@pytest.mark.anyio
@pytest.mark.rules("H8")
async def test_a_permit_that_comes_back_while_all_are_cancelled_harms_nobody_and_is_not_lost() -> None:
    gate = Gate(1)
    guests = [Guest(gate) for _ in range(3)]
    await settle()
    for guest in guests:
        guest.task.cancel()

    ends = await asyncio.gather(*(guest.task for guest in guests), return_exceptions=True)

    assert [type(end) for end in ends] == [asyncio.CancelledError] * 3
    assert (gate.in_use, gate.waiting) == (0, 0)


@pytest.mark.anyio
async def test_those_behind_one_that_wants_to_be_alone_are_let_in_when_it_leaves_the_queue() -> None:
    gate = Gate(2)
    first, alone, third = Guest(gate), Guest(gate, alone=True), Guest(gate)
    await settle()
    assert not third.inside.is_set()

    alone.task.cancel()
    await settle()

    assert third.inside.is_set()
    await first.leave()
    await third.leave()


@pytest.mark.anyio
async def test_more_slots_admit_more_and_fewer_hold_back_the_next() -> None:
    gate = Gate(1)
    guests = [Guest(gate) for _ in range(3)]
    await settle()
    gate.resize(2)
    await settle()
    assert (gate.capacity, gate.in_use, gate.waiting) == (2, 2, 1)
    gate.resize(1)
    await guests[0].leave()
    assert (gate.in_use, gate.waiting) == (1, 1)
    for guest in guests[1:]:
        await guest.leave()
    assert gate.in_use == 0


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(MOVES), max_size=40), st.integers(1, 3))
def test_no_permit_is_ever_leaked(moves: list[str], capacity: int) -> None:
    async def play() -> None:
        gate = Gate(capacity)
        guests: list[Guest] = []
        everybody: list[Guest] = []
        for move in moves:
            if move == "let pass":
                await asyncio.sleep(0)
            elif move.startswith("come"):
                guests.append(Guest(gate, alone=move == "come alone", aside=move == "come aside"))
                everybody.append(guests[-1])
            elif guests:
                guest = guests.pop(0)
                guest.may_leave.set() if move == "leave" else guest.task.cancel()
            assert gate.in_use <= capacity
        for guest in guests:
            guest.may_leave.set()
        ends = await asyncio.gather(*(guest.task for guest in everybody), return_exceptions=True)
        assert {type(end) for end in ends} <= {type(None), asyncio.CancelledError}
        await settle()
        assert (gate.in_use, gate.waiting) == (0, 0)

    asyncio.run(play())


@pytest.mark.anyio
async def test_what_runs_aside_leaves_one_permit_to_the_steps_of_turns() -> None:
    gate = Gate(2)
    aside, waiting = Guest(gate, aside=True), Guest(gate, aside=True)
    await settle()
    assert (aside.inside.is_set(), waiting.inside.is_set(), waiting.positions) == (True, False, [1])

    step = Guest(gate)
    await settle()

    assert step.inside.is_set()
    assert step.positions == []
    await aside.leave()
    await settle()
    assert waiting.inside.is_set()
    await waiting.leave()
    await step.leave()
    assert (gate.in_use, gate.waiting) == (0, 0)


@pytest.mark.anyio
async def test_where_there_is_one_permit_what_runs_aside_may_have_it_in_its_turn() -> None:
    gate = Gate(1)
    first, aside, third = Guest(gate), Guest(gate, aside=True), Guest(gate)
    await settle()
    await first.leave()
    await aside.inside.wait()
    assert not third.inside.is_set()
    await aside.leave()
    await third.inside.wait()
    await third.leave()
