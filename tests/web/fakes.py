"""What the web layer stands on, as small classes over values that a test puts in."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, cast

from service.adapters.prometheus import PrometheusMeter
from service.bootstrap import Application
from service.config import Settings
from service.core.agents import AgentProfiles
from service.core.baseline import Baseline
from service.core.decisions import DecisionAsked
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, OwnerId, SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.records import Outcome, PendingCall
from service.core.request_key import RequestKey
from service.core.session_status import SessionStatus
from service.core.usage import UsageTotals
from service.core.views import ContextFill, PromptView, SessionView, TurnState, TurnView
from service.ports import StoredRecord
from service.turns.compaction import ByHand
from service.turns.events import Event
from service.turns.pauses import Decided
from service.turns.readiness import Check
from service.turns.requests import SessionAsked, TurnAsked
from service.turns.server_view import ServerNow
from service.turns.session_view import Compacted
from service.turns.tool_catalog import ToolListing
from tests.web.fake_readings import FakeDocuments, FakeReadings

SESSION = SessionId("ses_1")
TURN = TurnId("trn_1")
NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
NOON_TEXT = "2026-01-02T12:00:00.000000Z"


def stored(seq: int, record_type: str = "user", *, turn: TurnId | None = TURN, **members: object) -> StoredRecord:
    """A record as the store keeps it; its `pos` is ten times its `seq`."""
    body = {"type": record_type, "session": SESSION, "turn": turn, "seq": seq, "time": NOON_TEXT, **members}
    return StoredRecord(
        session=SESSION,
        turn=turn,
        type=record_type,
        seq=seq,
        pos=seq * 10,
        body=json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode(),
        hash=bytes(32),
    )


def a_session(session: SessionId = SESSION) -> SessionView:
    return SessionView(
        id=session,
        title="",
        metadata={},
        owner=LOCAL_OWNER,
        created_at=NOON,
        updated_at=NOON,
        agent=None,
        parent=None,
        fork=None,
        baseline=Baseline(),
        status=SessionStatus(),
        last_seq=1,
        context=ContextFill(used_tokens=0, size_tokens=None, fill=None),
    )


def a_turn(state: TurnState = TurnState.RUNNING) -> TurnView:
    finished = state is TurnState.FINISHED
    return TurnView(
        id=TURN,
        session=SESSION,
        state=state,
        created_at=NOON,
        finished_at=NOON if finished else None,
        outcome=Outcome.ANSWERED if finished else None,
        limit=None,
        truncated=False,
        error=None,
        content="Hello." if finished else None,
        steps=1,
        usage=UsageTotals(),
        pending=(),
        child=None,
        first_seq=2,
        last_seq=5,
    )


class FakeFollower:
    """Gives the batches that it was made with, then those that a test adds, until it is told to end."""

    def __init__(self, *batches: Sequence[Event], ends: bool = True) -> None:
        self._batches: asyncio.Queue[Sequence[Event] | Exception | None] = asyncio.Queue()
        self.entered = asyncio.Event()
        self.left = asyncio.Event()
        for batch in batches:
            self.give(*batch)
        if ends:
            self.end()

    def give(self, *events: Event) -> None:
        self._batches.put_nowait(events)

    def fail(self, error: Exception) -> None:
        self._batches.put_nowait(error)

    def end(self) -> None:
        self._batches.put_nowait(None)

    async def __aenter__(self) -> Self:
        self.entered.set()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.left.set()

    async def __aiter__(self) -> AsyncIterator[Sequence[Event]]:
        while (batch := await self._batches.get()) is not None:
            if isinstance(batch, Exception):
                raise batch
            yield batch


@dataclass
class Followed:
    """How a stream was asked for."""

    session: SessionId
    turn: TurnId | None
    after_pos: int | None
    until_pause: bool


class FakeSessions:
    """One session with one turn; what a test sets is what is answered, and `refusal` comes before all else."""

    def __init__(self) -> None:
        self.session = a_session()
        self.turn_shown = a_turn()
        self.log: list[StoredRecord] = []
        self.follower: FakeFollower | None = FakeFollower()
        self.next_page: SessionId | None = None
        self.refusal: Exception | None = None
        self.deleted = False
        self.turn_ended = asyncio.Event()
        self.wait_refusal: Exception | None = None
        self.wait_cancelled = asyncio.Event()
        self.waiting = asyncio.Event()
        self.created: list[SessionAsked] = []
        self.started: list[TurnAsked] = []
        self.followed: list[Followed] = []
        self.pages: list[tuple[int, SessionId | None]] = []
        self.searches: list[str] = []
        self.reads: list[tuple[int, int]] = []
        self.second_read_fails: Exception | None = None
        self.full_texts: dict[int, str] = {}
        self.keys: list[RequestKey | None] = []
        self.compacted = ByHand(summary=None, seq=None, detail="Nothing was summarised.")
        self.left_turns: list[TurnId] = []
        self.someone_left = asyncio.Event()
        self.waiting_calls: list[PendingCall] = []
        self.decided = Decided(goes_on=True, after_pos=40)
        self.decisions: list[tuple[tuple[DecisionAsked, ...], str]] = []

    def _check(self, session: SessionId, turn: TurnId = TURN) -> None:
        if self.refusal is not None:
            raise self.refusal
        if session != SESSION or turn != TURN or self.deleted:
            raise RequestRefused(ProblemCode.NOT_FOUND, "there is no such session or turn")

    async def create(self, asked: SessionAsked, owner: OwnerId, key: RequestKey | None = None) -> SessionView:
        self._check(SESSION)
        self.keys.append(key)
        self.created.append(asked)
        return replace(self.session, owner=owner, title=asked.title, metadata=asked.metadata)

    async def view(self, session: SessionId, owner: OwnerId) -> SessionView:
        self._check(session)
        return self.session

    async def page(
        self, owner: OwnerId, *, limit: int, after: SessionId | None, search: str = ""
    ) -> tuple[Sequence[SessionView], SessionId | None]:
        self._check(SESSION)
        self.pages.append((limit, after))
        self.searches.append(search)
        return [self.session], self.next_page

    async def update(
        self, session: SessionId, owner: OwnerId, *, title: str | None, metadata: JsonObject | None
    ) -> SessionView:
        self._check(session)
        if title is not None:
            self.session = replace(self.session, title=title)
        if metadata is not None:
            self.session = replace(self.session, metadata=metadata)
        return self.session

    async def delete(self, session: SessionId, owner: OwnerId) -> None:
        self._check(session)
        self.deleted = True

    def left(self, session: SessionId, turn: TurnId, owner: OwnerId) -> None:
        self.left_turns.append(turn)
        self.someone_left.set()

    async def start_turn(
        self, session: SessionId, owner: OwnerId, asked: TurnAsked, key: RequestKey | None = None
    ) -> TurnId:
        self._check(session)
        self.keys.append(key)
        self.started.append(asked)
        return TURN

    async def turn(self, session: SessionId, turn: TurnId, owner: OwnerId) -> TurnView:
        self._check(session, turn)
        return self.turn_shown

    async def turns(self, session: SessionId, owner: OwnerId) -> Sequence[TurnView]:
        self._check(session)
        return [self.turn_shown]

    async def cancel(self, session: SessionId, turn: TurnId, owner: OwnerId) -> tuple[TurnView, bool]:
        self._check(session, turn)
        return self.turn_shown, self.turn_shown.state is TurnState.FINISHED

    async def wait(self, session: SessionId, turn: TurnId, owner: OwnerId) -> TurnView:
        self._check(session, turn)
        self.waiting.set()
        try:
            await self.turn_ended.wait()
        except asyncio.CancelledError:
            self.wait_cancelled.set()
            raise
        if self.wait_refusal is not None:
            raise self.wait_refusal
        return a_turn(TurnState.FINISHED)

    async def pending(self, owner: OwnerId) -> Sequence[PendingCall]:
        self._check(SESSION)
        return self.waiting_calls

    async def decide(
        self,
        session: SessionId,
        turn: TurnId,
        owner: OwnerId,
        asked: tuple[DecisionAsked, ...],
        *,
        by: str,
        key: RequestKey | None = None,
    ) -> Decided:
        self._check(session, turn)
        self.keys.append(key)
        self.decisions.append((asked, by))
        return self.decided

    async def records(self, session: SessionId, owner: OwnerId, *, after: int, limit: int) -> Sequence[StoredRecord]:
        self._check(session)
        self.reads.append((after, limit))
        if self.second_read_fails is not None and len(self.reads) > 1:
            raise self.second_read_fails
        return [record for record in self.log if record.seq > after][:limit]

    async def full_text(self, session: SessionId, owner: OwnerId, seq: int) -> str:
        self._check(session)
        if seq not in self.full_texts:
            raise RequestRefused(ProblemCode.NOT_FOUND, f"there is no result {seq}")
        return self.full_texts[seq]

    async def messages(self, session: SessionId, owner: OwnerId) -> PromptView:
        self._check(session)
        return PromptView(messages=({"role": "user", "content": "Hi"},), tools=())

    async def compact(self, session: SessionId, owner: OwnerId) -> Compacted:
        self._check(session)
        return Compacted(by_hand=self.compacted, session=self.session)

    async def follow_all(self, owner: OwnerId, after_pos: int | None) -> FakeFollower:
        self._check(SESSION)
        self.followed.append(Followed(session=SESSION, turn=None, after_pos=after_pos, until_pause=False))
        assert self.follower is not None  # this stream always goes on
        return self.follower

    async def follow(
        self,
        session: SessionId,
        owner: OwnerId,
        *,
        turn: TurnId | None,
        after_pos: int | None,
        until_pause: bool = False,
    ) -> FakeFollower | None:
        self._check(session, turn or TURN)
        self.followed.append(Followed(session, turn, after_pos, until_pause))
        return self.follower


@dataclass
class FakeTools:
    specs: tuple[Any, ...] = ()
    left_out: tuple[Any, ...] = ()
    refusal: Exception | None = None

    async def listing(self) -> ToolListing:
        if self.refusal is not None:
            raise self.refusal
        return ToolListing(specs=self.specs, left_out=self.left_out)


@dataclass
class FakeReadiness:
    checks: list[Check] = field(default_factory=list[Check])

    async def check(self) -> Sequence[Check]:
        return self.checks


@dataclass
class FakeServerView:
    shown: ServerNow = field(
        default_factory=lambda: ServerNow(
            slots=(), message="away", permits=1, running=(), queued=(), template=None, words=()
        )
    )

    async def now(self, owner: OwnerId) -> ServerNow:
        return self.shown


@dataclass
class FakeApplication:
    """All of it; `build` is what `create_app` takes in place of bootstrap's."""

    sessions: FakeSessions = field(default_factory=FakeSessions)
    readings: FakeReadings = field(default_factory=FakeReadings)
    documents: FakeDocuments = field(default_factory=FakeDocuments)
    tools: FakeTools = field(default_factory=FakeTools)
    readiness: FakeReadiness = field(default_factory=FakeReadiness)
    server: FakeServerView = field(default_factory=FakeServerView)
    agents: AgentProfiles = field(default_factory=AgentProfiles)
    metrics: PrometheusMeter = field(default_factory=PrometheusMeter)

    def build(self, settings: Settings) -> AbstractAsyncContextManager[Application]:
        @asynccontextmanager
        async def built() -> AsyncGenerator[Application]:
            # The fakes have the methods of the real classes, not their type.
            yield cast(Application, self)

        return built()
