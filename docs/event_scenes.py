"""Turns that are run for the page of events: the real service over fakes, with times and ids that stay the same.

Each scene gives the frames that a client gets. Together they hold every kind of event of a turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any

from structlog.testing import capture_logs

from service.adapters.log_memory import MemoryLog
from service.core.errors import ErrorKind, ModelFailure, StoreFailure
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.ports import StoredRecord
from service.turns.requests import OnBusy
from service.web.sse import frame
from tests.fakes.clock import START, SteppingClock
from tests.fakes.counted_llama import CountedLlama
from tests.fakes.house import BOUND_S, House
from tests.fakes.llama import GONE, Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, result, spec
from tests.turns.approving import decide, decision
from tests.turns.handing_over import AGENTS, hand_over
from tests.turns.turn_facts import LaterIds

Frames = list[bytes]
Scene = Callable[[], Coroutine[Any, Any, Frames]]

QUESTION = "What is the weather in Oslo?"
_BEYOND = 1_000


class StillClock(SteppingClock):
    """A clock that stands still but while somebody sleeps: how often it is looked at changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._began = self.seconds

    def now(self) -> datetime:
        """Give the time of day."""
        return START + timedelta(seconds=self.seconds - self._began)


def _house(llama: ScriptedLlama, port: TablePort | None = None, **other: Any) -> House:
    return House(llama, port, clock=StillClock(), **other)


class BreakableLog(MemoryLog):
    """A store that can stop to take anything."""

    is_broken = False

    async def append(self, *of: Any, **more: Any) -> Sequence[StoredRecord]:
        """Append, as long as it works."""
        if self.is_broken:
            raise StoreFailure("the disk is full")
        return await super().append(*of, **more)


def play(scene: Scene) -> Frames:
    """Play a scene; what the service logs meanwhile is of no interest.

    Raises:
        TimeoutError: it hangs.
    """
    with capture_logs():
        return asyncio.run(asyncio.wait_for(scene(), BOUND_S))


async def frames_of(following: AbstractAsyncContextManager[Any] | None, until: str = "") -> Frames:
    """Give the frames of a stream to its end, or to the first event of a type."""
    assert following is not None
    seen: Frames = []
    async with asyncio.timeout(BOUND_S), following as batches:
        async for batch in batches:
            seen += [frame(event) for event in batch]
            if until and any(f"event: {until}\n".encode() in one for one in seen):
                break
    return seen


async def posted(house: House, session: SessionId, content: str, **asked: object) -> Frames:
    """Give the stream with which a POST of a message is answered."""
    turn = await house.start(session, content, **asked)
    return await answered(house, session, turn)


async def answered(house: House, session: SessionId, turn: TurnId) -> Frames:
    """Give the stream of a turn that a POST begins, to its end or its pause."""
    return await frames_of(
        await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None, until_pause=True)
    )


async def plain() -> Frames:
    """An answer behind a thought."""
    house = _house(ScriptedLlama(Play(reasoning="The user greets me.", content="Hello there!")))
    session = await house.session(system="Be brief.")
    whole = await frames_of(
        await house.sessions.follow(session, LOCAL_OWNER, turn=None, after_pos=0), until="session_created"
    )
    return whole + await posted(house, session, "Hello")


async def tools() -> Frames:
    """A call that runs, and the answer."""
    port = TablePort(spec("weather"), tools={"weather": lambda _: result("Rain, 7 degrees.", untrusted=True)})
    script = [ask_for(call("weather", '{"city": "Oslo"}')), say("It rains in Oslo.")]
    house = _house(ScriptedLlama(*script), port)
    return await posted(house, await house.session(), QUESTION)


async def approval() -> Frames:
    """A call that a person lets run."""
    port = TablePort(spec("close_road", needs_approval=True, title="Close a road"))
    house = _house(ScriptedLlama(ask_for(call("close_road", '{"city": "Oslo"}')), say("It is closed.")), port)
    session = await house.session()
    seen = await posted(house, session, "Close the road in Oslo.")
    (view,) = await house.sessions.turns(session, LOCAL_OWNER)
    decided = await decide(house, view, decision(view.pending[0], reason="Agreed with the police."))
    going = house.sessions.follow(session, LOCAL_OWNER, turn=view.id, after_pos=decided.after_pos, until_pause=True)
    return seen + await frames_of(await going)


async def handoff() -> Frames:
    """Another agent answers."""
    house = _house(ScriptedLlama(ask_for(hand_over()), say("Take green tea."), say("Green tea.")), agents=AGENTS)
    return await posted(house, await house.session(), "Which tea in the evening?")


async def retried() -> Frames:
    """A stream of the model server that breaks."""
    closed = ModelFailure(ErrorKind.STREAM_CLOSED, "the connection broke")
    house = _house(ScriptedLlama(say("It is", failure=closed), say("It is four.")))
    return await posted(house, await house.session(), "What is two and two?")


async def capped() -> Frames:
    """A thought that comes to its cap."""
    house = _house(ScriptedLlama(Play(reasoning="hm " * 98, content="So it is.")))
    return await posted(house, await house.session(limits={"thinking_tokens": 100}), "Is it?")


async def cache_lost() -> Frames:
    """A second turn for which the server has forgotten the first."""
    house = _house(ScriptedLlama(say("word " * 100), say("Late.", cached_tokens=0)))
    session = await house.session()
    await house.run(session, "Tell me a story.")
    return await posted(house, session, "And then?")


async def compacted() -> Frames:
    """A session whose oldest part becomes a summary."""
    long = say("It lies behind the hills, by the sea, and has a harbour. " * 12)
    llama = CountedLlama(long, summaries=[say("They talked about Oslo.")], context_tokens=1024, endless=True)
    house = _house(llama)
    session = await house.session()
    seen: Frames = []
    while not any(b"event: summary\n" in one for one in seen):
        seen = await posted(house, session, "Where is Oslo?")
    return seen


async def queued() -> Frames:
    """A message that comes while another turn runs."""
    first = say("One.", before_end=asyncio.Event())
    house = _house(ScriptedLlama(first, say("Two.")))
    session = await house.session()
    await house.start(session, "First?")
    await first.streaming.wait()
    turn = await house.start(session, "Second?", on_busy=OnBusy.QUEUE)
    following = asyncio.create_task(answered(house, session, turn))
    await asyncio.sleep(0)
    assert first.before_end is not None
    first.before_end.set()
    return await following


async def waited() -> Frames:
    """A model server that is not there yet."""
    llama = ScriptedLlama(Play(at_once=GONE), say("There."))
    llama.away = GONE
    house = _house(llama)
    session = await house.session()
    turn = await house.start(session, "Are you there?")
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None, until_pause=True)
    assert following is not None
    seen: Frames = []
    async with asyncio.timeout(BOUND_S), following as batches:
        async for batch in batches:
            seen += [frame(event) for event in batch]
            if any(b"event: waiting\n" in one for one in seen):
                llama.away = None
    return seen


async def joined() -> Frames:
    """A client that comes in the middle of an answer."""
    half = say("Once upon a time there was", before_end=asyncio.Event())
    house = _house(ScriptedLlama(half))
    session = await house.session()
    turn = await house.start(session, "Tell me a story.")
    await half.streaming.wait()
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None)
    seen = await frames_of(following, until="partial")
    assert half.before_end is not None
    half.before_end.set()
    await house.finish(session, turn)
    return seen


async def restarted() -> Frames:
    """A service that stops in mid-turn, and the next one."""
    half = say("Once", before_end=asyncio.Event())
    first = _house(ScriptedLlama(half), log=(log := MemoryLog()))
    session = await first.session()
    turn = await first.start(session, "Tell me a story.")
    await half.streaming.wait()
    following = asyncio.create_task(
        frames_of(await first.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None))
    )
    await asyncio.sleep(0)
    await first.sessions.shut_down(0)
    seen = await following
    second = _house(ScriptedLlama(say("Once upon a time.")), log=log, ids=LaterIds())
    await second.sessions.resume_unfinished()
    return seen + await answered(second, session, turn)


async def beyond() -> Frames:
    """A cursor of another store."""
    house = _house(ScriptedLlama(say("Hello.")))
    await house.run(await house.session())
    return await frames_of(await house.sessions.follow_all(LOCAL_OWNER, _BEYOND), until="resync")


async def deleted() -> Frames:
    """A session that is deleted while its stream is open."""
    house = _house(ScriptedLlama(say("Hello.")))
    session = await house.session()
    following = asyncio.create_task(
        frames_of(await house.sessions.follow(session, LOCAL_OWNER, turn=None, after_pos=None))
    )
    await asyncio.sleep(0)
    await house.sessions.delete(session, LOCAL_OWNER)
    return await following


async def disk_full() -> Frames:
    """A store that takes nothing any more, not even the end of the turn."""
    half = say("Once", before_end=asyncio.Event())
    house = _house(ScriptedLlama(half), log=(log := BreakableLog()))
    session = await house.session()
    turn = await house.start(session, "Tell me a story.")
    await half.streaming.wait()
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None)
    log.is_broken = True
    assert half.before_end is not None
    half.before_end.set()
    return await frames_of(following)


TURN_SCENES: tuple[Scene, ...] = (
    plain,
    tools,
    approval,
    handoff,
    retried,
    capped,
    cache_lost,
    compacted,
    queued,
    waited,
    joined,
    restarted,
    beyond,
    deleted,
    disk_full,
)
