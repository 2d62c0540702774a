"""The service without its edges: real turns over fakes, wired as bootstrap wires the real thing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from service.access.untraced import Untraced
from service.adapters.log_memory import MemoryLog
from service.codec import decode_record
from service.core.agents import AgentProfiles
from service.core.baseline import Limits
from service.core.decision_signature import ApproverKeys
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.owner_bounds import OwnerBounds
from service.core.reading.records import ReadingEntry, ReadingRecord
from service.core.records import Entry, Record
from service.core.signals import ShuttingDown
from service.core.views import TurnView
from service.ports import Meter, SessionLog, Tracer
from service.ports.meter import Decided, ReadingCost, TurnCost, Work
from service.turns.assembly import Turns, assemble
from service.turns.events import SignalEvent
from service.turns.requests import SessionAsked, TurnAsked
from tests.fakes.clock import CountingIds, SteppingClock
from tests.fakes.llama import ScriptedLlama
from tests.fakes.tool_port import TablePort

BOUND_S = 20.0


class ListMeter:
    """Remembers what it was told of."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.of_readings: list[ReadingRecord] = []
        self.turns: list[TurnCost] = []
        self.readings: list[ReadingCost] = []
        self.decisions: list[tuple[Decided, float]] = []
        self.waits: list[tuple[Work, float]] = []
        self.fills: list[float] = []

    def appended(self, entries: Sequence[Entry]) -> None:
        self.records.extend(entry.record for entry in entries)

    def appended_to_reading(self, entries: Sequence[ReadingEntry]) -> None:
        self.of_readings.extend(entry.record for entry in entries)

    def turn_ended(self, cost: TurnCost) -> None:
        self.turns.append(cost)

    def reading_ended(self, cost: ReadingCost) -> None:
        self.readings.append(cost)

    def decided(self, what: Decided, waited_s: float) -> None:
        self.decisions.append((what, waited_s))

    def admitted(self, work: Work, waited_s: float) -> None:
        self.waits.append((work, waited_s))

    def context_filled(self, fill: float) -> None:
        self.fills.append(fill)


class House:
    """Sessions over a scripted model, a table of tools and the memory log."""

    def __init__(
        self,
        llama: ScriptedLlama,
        port: TablePort | None = None,
        *,
        log: SessionLog | None = None,
        agents: AgentProfiles | None = None,
        ids: CountingIds | None = None,
        limits: Limits | None = None,
        clock: SteppingClock | None = None,
        pin_slots: bool = False,
        meter: Meter | None = None,
        tracer: Tracer | None = None,
        approver_keys: ApproverKeys | None = None,
        approval_wait_s: int = 0,
        approve_after_untrusted: bool = True,
        compact_at: float = 0.8,
        compact_messages: int = 0,
        min_room: int = 16,
        bounds: OwnerBounds | None = None,
    ) -> None:
        self.llama = llama
        self.port = port
        self.log = log or MemoryLog()
        self.clock = clock or SteppingClock()
        self.turns: Turns = assemble(
            log=self.log,
            llama=llama,
            port=port,
            clock=self.clock,
            ids=ids or CountingIds(),
            meter=meter or ListMeter(),
            tracer=tracer or Untraced(),
            agents=agents or AgentProfiles(),
            limits=limits or Limits(),
            model=None,
            slots=None,
            min_room=min_room,
            compact_at=compact_at,
            compact_messages=compact_messages,
            tool_concurrency=4,
            resume_attempts=3,
            queue_limit=16,
            retry_attempts=2,
            load_wait_ms=300_000,
            pin_slots=pin_slots,
            poll_ms=2000,
            cache_slack=64,
            discover_above_tokens=4096,
            approver_keys=approver_keys or ApproverKeys(),
            approval_wait_s=approval_wait_s,
            approve_after_untrusted=approve_after_untrusted,
            bounds=bounds or OwnerBounds(),
        )
        self.sessions = self.turns.sessions

    async def session(self, **asked: object) -> SessionId:
        """Make a session."""
        view = await self.sessions.create(SessionAsked(**asked), LOCAL_OWNER)  # pyright: ignore[reportArgumentType]
        return view.id

    async def start(self, session: SessionId, content: str = "Hello", **asked: object) -> TurnId:
        """Start a turn."""
        turn = TurnAsked(content=content, **asked)  # pyright: ignore[reportArgumentType]
        return await self.sessions.start_turn(session, LOCAL_OWNER, turn)

    async def finish(self, session: SessionId, turn: TurnId) -> TurnView:
        """Wait for the turn's end."""
        return await self.sessions.wait(session, turn, LOCAL_OWNER)

    async def run(self, session: SessionId, content: str = "Hello", **asked: object) -> TurnView:
        """Run a turn to its end."""
        return await self.finish(session, await self.start(session, content, **asked))

    async def stops(self, session: SessionId) -> None:
        """Wait until followers of this session are told that the service stops."""
        following = await self.sessions.follow(session, LOCAL_OWNER, turn=None, after_pos=None)
        assert following is not None  # the stream of a session has no end of its own
        async with asyncio.timeout(BOUND_S), following:
            seen = [event async for batch in following for event in batch]
        assert isinstance(seen[-1], SignalEvent)
        assert isinstance(seen[-1].signal, ShuttingDown)

    async def entries(self, session: SessionId) -> list[Entry]:
        """Read the session's log."""
        return [decode_record(stored.body) for stored in await self.log.read(session)]

    async def records(self, session: SessionId) -> list[Record]:
        """Read the session's records, without their envelopes."""
        return [entry.record for entry in await self.entries(session)]
