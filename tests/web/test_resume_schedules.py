"""However turns run, services restart and connections break, each client sees every record once, in order (H6)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from itertools import cycle, islice

import pytest
import structlog
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.adapters.log_memory import MemoryLog
from service.core.agents import AgentProfiles
from service.core.errors import ErrorKind, ModelFailure
from service.core.ids import LOCAL_OWNER, OwnerId, SessionId, TurnId
from service.ports import SessionRow, StoredRecord
from service.turns.requests import OnBusy
from service.web.sse import frame, frames
from tests.fakes.clock import CountingIds
from tests.fakes.house import House
from tests.fakes.llama import Play, ask_for, call, say
from tests.fakes.tool_port import spec
from tests.turns.handing_over import AGENTS, hand_over
from tests.web.cut_client import Connection, CutClient, frames_in, record_lines
from tests.web.serving import BOUND_S
from tests.web.stepped import SteppedLlama, SteppedPort, Turnstile, settle

CLOSED = ModelFailure(ErrorKind.STREAM_CLOSED, "the connection broke")
READERS = 3
TURNS = 4

READER = st.integers(0, READERS - 1)
READ = st.tuples(st.just("read"), READER)
# How much of the last chunk arrives: nothing, some frames and a part of one, all.
CUT = st.tuples(st.just("cut"), READER, st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0]))
ASK = st.tuples(st.just("ask"), st.sampled_from([OnBusy.QUEUE, OnBusy.QUEUE, OnBusy.INTERRUPT]))
CANCEL = st.tuples(st.just("cancel"), st.integers(0, TURNS - 1))
RESTART = st.tuples(st.just("restart"))
LET = st.tuples(st.sampled_from(["let", "rush"]), st.integers(1, 12))
ACT = st.one_of(LET, READ, READ, CUT, ASK, CANCEL, RESTART)
Act = tuple[str | int | float, ...]

SESSION, EVERYTHING = -1, -2
TARGETS = st.lists(st.integers(EVERYTHING, TURNS - 1), min_size=READERS, max_size=READERS)
"""What each reader follows: a turn, by its number, its session, or all sessions."""


@pytest.fixture(autouse=True)
def quiet_logs() -> Iterator[None]:
    """Write no log lines of hundreds of turns, each of which goes wrong somewhere."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.configure(**before)


def script() -> list[Play]:
    """Steps of all kinds, enough for every schedule."""
    kinds = (
        Play(reasoning="I have to look", calls=(call("clock"), call("clock", '{"city": "Rome"}', id="call-2"))),
        say("Half an\u2028answer that", reasoning="so", failure=CLOSED),
        say("It is n\u00f6\u00f6n \U0001f44b there.", reasoning="well then"),
        ask_for(call("clock", '{"city": "Bern"}'), content="One moment."),
        say("Noon."),
        say("Short", failure=CLOSED),
        say("A much longer answer than the one before."),
    )
    return list(islice(cycle(kinds), 140))


class DistantLog(MemoryLog):
    """A log whose reads take a while, as those of a disk do: much may happen before their answer is there."""

    async def read(self, session: SessionId, **how: object) -> Sequence[StoredRecord]:
        found = await super().read(session, **how)  # pyright: ignore[reportArgumentType]
        await _a_while()
        return found

    async def read_family(self, session: SessionId, **how: int | None) -> Sequence[StoredRecord]:
        found = await super().read_family(session, **how)  # pyright: ignore[reportArgumentType]
        await _a_while()
        return found

    async def read_turn_family(self, session: SessionId, turn: TurnId, **how: object) -> Sequence[StoredRecord]:
        found = await super().read_turn_family(session, turn, **how)  # pyright: ignore[reportArgumentType]
        await _a_while()
        return found

    async def read_all(self, owner: OwnerId, **how: int | None) -> Sequence[StoredRecord]:
        found = await super().read_all(owner, **how)  # pyright: ignore[reportArgumentType]
        await _a_while()
        return found

    async def session(self, session: SessionId) -> SessionRow | None:
        found = await super().session(session)
        await _a_while()
        return found


async def _a_while() -> None:
    for _ in range(7):
        await asyncio.sleep(0)


class World:
    """One session of a service that goes on piece by piece, and its readers."""

    def __init__(self, targets: list[int], plays: Sequence[Play], agents: AgentProfiles | None = None) -> None:
        self._script, self._agents = plays, agents
        self._log, self._ids = DistantLog(), CountingIds()
        self._targets = targets
        self._turns: list[TurnId] = []
        self._open: dict[int, Connection] = {}
        self.clients = [CutClient() for _ in targets]

    async def begin(self) -> None:
        self._build()
        self._session = await self._house.session()
        await self.ask(OnBusy.QUEUE)

    def _build(self) -> None:
        self._turnstile = Turnstile()
        port = SteppedPort(self._turnstile, spec("clock"))
        llama = SteppedLlama(self._turnstile, *self._script)
        self._house = House(llama, port, log=self._log, ids=self._ids, agents=self._agents)

    async def let(self, pieces: int) -> None:
        self._turnstile.let(pieces)
        await settle()

    async def rush(self, pieces: int) -> None:
        """Let pieces through while something else happens."""
        self._turnstile.let(pieces)

    async def ask(self, on_busy: OnBusy) -> None:
        if len(self._turns) < TURNS:
            content = f"What time is it, {len(self._turns)}?"
            self._turns.append(await self._house.start(self._session, content, on_busy=on_busy))

    async def cancel(self, number: int) -> None:
        if number < len(self._turns):
            await self._house.sessions.cancel(self._session, self._turns[number], LOCAL_OWNER)

    async def restart(self) -> None:
        await self._house.sessions.shut_down(0)
        for connection in self._open.values():
            # The last word is read before the connection ends.
            await connection.read_on()
            assert connection.ended
            await connection.cut()
        self._open.clear()
        self._build()
        await self._house.sessions.resume_unfinished()

    async def read(self, number: int) -> None:
        """Read the next chunk of a reader's connection, which is opened when there is none."""
        connection = self._open.get(number) or await self._connect(number)
        if connection is not None:
            await connection.read()

    async def cut(self, number: int, share: float = 1.0) -> None:
        connection = self._open.pop(number, None)
        if connection is not None:
            await connection.cut(share)

    async def _connect(self, number: int) -> Connection | None:
        target, client = self._targets[number], self.clients[number]
        if target >= len(self._turns):
            return None
        turn = self._turns[target] if target >= 0 else None
        cursor = None if client.cursor is None else int(client.cursor)
        # Every other reader of a turn is the one that posted it.
        posted = turn is not None and number % 2 == 0 and cursor is None
        sessions = self._house.sessions
        if target == EVERYTHING:
            following = await sessions.follow_all(LOCAL_OWNER, cursor or 0)
        else:
            following = await sessions.follow(
                self._session, LOCAL_OWNER, turn=turn, after_pos=cursor, until_pause=posted
            )
        if following is None:
            assert client.records[-1].field("event") == "turn_finished"
            return None
        self._open[number] = Connection(frames(following, self._session, turn), client)
        return self._open[number]

    async def end(self) -> None:
        """Let all turns end, and all readers read to the end."""
        self._turnstile.open()
        async with asyncio.timeout(BOUND_S):
            for turn in self._turns:
                await self._house.finish(self._session, turn)
        for number in range(READERS):
            # Twice: for the one that comes again nothing is left.
            for _ in range(2):
                connection = self._open.get(number) or await self._connect(number)
                if connection is not None:
                    await connection.read_on()
                await self.cut(number)

    async def log_of(self, number: int) -> list[tuple[str, ...]]:
        """Give what this reader ought to have seen, as it stands in the log."""
        target = self._targets[number]
        if target >= len(self._turns):
            return []
        return record_lines(frames_in(b"".join(map(frame, await self._stored(target)))))

    async def _stored(self, target: int) -> Sequence[StoredRecord]:
        if target == EVERYTHING:
            return await self._log.read_all(LOCAL_OWNER, after_pos=0, limit=10_000)
        if target == SESSION:
            return await self._log.read_family(self._session, after_pos=0, limit=10_000)
        return await self._log.read(self._session, turn=self._turns[target])


async def played(world: World, acts: list[Act]) -> None:
    """Play a schedule, and compare what each reader has seen with the log."""
    await world.begin()
    for act, *how in acts:
        await getattr(world, str(act))(*how)
    await world.end()
    for number, client in enumerate(world.clients):
        assert record_lines(client.records) == await world.log_of(number)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.timeout(300)
@pytest.mark.rules("H6", "H7", "H4", "S1", "S4")
@settings(max_examples=120, deadline=None)
@given(TARGETS, st.lists(ACT, max_size=60))
# A reader slept from the text of one attempt to the answer of the next.
@example([0, 0, 0], [("let", 11), ("read", 1), ("read", 1), ("read", 1)])
# A turn was cancelled before it had taken its first step.
@example([0, -1, 0], [("cancel", 0)])
# A turn was taken from the queue while the service stopped.
@example([1, 1, 0], [("ask", OnBusy.QUEUE), ("let", 22), ("cancel", 0), ("restart",)])
def test_no_schedule_loses_a_record_or_shows_it_twice(targets: list[int], acts: list[Act]) -> None:
    asyncio.run(played(World(targets, script()), acts))


def handing_over() -> list[Play]:
    """Steps of parents and of children, whoever comes to play them: some hand over, to the third depth and deeper."""
    kinds = (
        ask_for(hand_over(), content="An expert knows."),
        Play(reasoning="I have to look", calls=(call("clock"), call("clock", '{"city": "Rome"}', id="call-2"))),
        ask_for(hand_over(message="Which cup?"), call("clock", id="call-3")),
        say("Half an answer", failure=CLOSED),
        say("The blue \U0001f44b one.", reasoning="so many cups"),
        say("Green tea in the blue cup."),
        ask_for(hand_over(message="Is it hot?")),
        say("Noon."),
    )
    return list(islice(cycle(kinds), 160))


@pytest.mark.timeout(300)
@pytest.mark.rules("H6", "H7", "G2", "S1", "S4")
@pytest.mark.cases(9)
@settings(max_examples=120, deadline=None)
@given(TARGETS, st.lists(ACT, max_size=60))
@example([-1, -1, -2], [("let", 4), ("read", 0), ("let", 9), ("restart",), ("read", 1)])
def test_no_schedule_of_a_family_loses_a_record_or_shows_it_twice(targets: list[int], acts: list[Act]) -> None:
    asyncio.run(played(World(targets, handing_over(), AGENTS), acts))
