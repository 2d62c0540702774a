"""What tests of an owner's places for turns share: turns that wait until they are let go, and refusals."""

from __future__ import annotations

import asyncio

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, OwnerId, SessionId, TurnId
from service.core.owner_bounds import OwnerBounds
from service.core.records import Outcome
from service.turns.requests import SessionAsked, TurnAsked
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, say

BOUND_S = 20.0


def held(text: str = "So.") -> Play:
    """A completion that waits until it is let go."""
    return say(text, before_end=asyncio.Event())


def let_go(play: Play) -> None:
    assert play.before_end is not None
    play.before_end.set()


def house_of(most: int, *script: Play, log: MemoryLog | None = None) -> House:
    return House(ScriptedLlama(*script), bounds=OwnerBounds(turns=most), log=log)


async def session_of(house: House, owner: OwnerId) -> SessionId:
    return (await house.sessions.create(SessionAsked(), owner)).id


async def start(house: House, session: SessionId, owner: OwnerId = LOCAL_OWNER, **asked: object) -> TurnId:
    turn = TurnAsked(content="Hi", **asked)  # pyright: ignore[reportArgumentType]
    return await house.sessions.start_turn(session, owner, turn)


async def finish(house: House, session: SessionId, turn: TurnId) -> Outcome | None:
    async with asyncio.timeout(BOUND_S):
        return (await house.finish(session, turn)).outcome


async def assert_full(house: House, session: SessionId, owner: OwnerId = LOCAL_OWNER, **asked: object) -> None:
    before = len(await house.log.read(session))
    with pytest.raises(RequestRefused) as refused:
        await start(house, session, owner, **asked)
    assert refused.value.code is ProblemCode.QUEUE_FULL
    assert "turns_per_owner" in refused.value.detail
    assert refused.value.retry_after_s is not None
    # What is refused leaves no trace.
    assert len(await house.log.read(session)) == before
