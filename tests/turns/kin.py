"""A store and its feeds without a service: sessions and their children come about record by record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from service.adapters.log_memory import MemoryLog
from service.codec import encode_record
from service.core.completion_events import FinishReason
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import Assistant, Entry, ParentLink, Record
from service.core.session_status import SessionStatus
from service.ports import NewSession, RecordDraft, StoredRecord
from service.turns.events import Event
from service.turns.feed import Feed, Feeds
from service.turns.follower import Follower
from service.turns.step_text import StepText
from tests.fakes.clock import START
from tests.fakes.house import BOUND_S
from tests.web.stepped import settle

TURN = TurnId("trn_1")
CREATED = ((None, "session_created"), (TURN, "user"))


def answer(content: str, step: int = 1) -> Assistant:
    """A step's record."""
    return Assistant(
        step=step, content=content, reasoning="", tool_calls=(), cut_calls=(), finish_reason=FinishReason.STOP
    )


class CountedLog(MemoryLog):
    """A log that counts how often followers read it."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    async def read_family(self, session: SessionId, **how: int | None) -> Sequence[StoredRecord]:
        self.reads += 1
        return await super().read_family(session, **how)  # pyright: ignore[reportArgumentType]

    async def read_turn_family(self, session: SessionId, turn: TurnId, **how: object) -> Sequence[StoredRecord]:
        self.reads += 1
        return await super().read_turn_family(session, turn, **how)  # pyright: ignore[reportArgumentType]


class Kin:
    """Writes and tells as turns do; a session is in memory as long as its feed is kept here."""

    def __init__(self) -> None:
        self.log = CountedLog()
        self.feeds = Feeds()
        self.kept: dict[SessionId, Feed] = {}

    async def session(self, name: str, parent: SessionId | None = None, *, told: bool = True) -> SessionId:
        """Make a session, as a handoff of the parent's turn if there is one, which the parent's log names first."""
        session = SessionId(name)
        if parent is not None:
            await self.append(parent, "handoff_started")
        link = None if parent is None else ParentLink(session=parent, turn=TURN, call=1)
        self.kept[session] = self.feeds.of(session) if parent is None else self.feeds.join(session, parent)
        made = NewSession(
            id=session, owner=LOCAL_OWNER, title="", metadata={}, agent=None, parent=link, created_at=START
        )
        drafts = [RecordDraft(turn=turn, type=kind, body=b"{}") for turn, kind in CREATED]
        stored = await self.log.create_session(made, drafts, SessionStatus())
        if told:
            self.kept[session].publish_records(stored)
        return session

    async def write(self, session: SessionId, record: Record | str, turn: TurnId = TURN) -> StoredRecord:
        """Append a record without telling of it: one of a kind, or a whole one."""
        last = (await self.log.read(session))[-1].seq
        kind = record if isinstance(record, str) else record.type
        body = b"{}"
        if not isinstance(record, str):
            body = encode_record(Entry(session=session, turn=turn, seq=last + 1, time=START, record=record))
        draft = RecordDraft(turn=turn, type=kind, body=body)
        (stored,) = await self.log.append(session, last, [draft], SessionStatus(), START)
        return stored

    def tell(self, stored: StoredRecord) -> None:
        """Tell of a record as a turn does; the text that it ends is forgotten."""
        feed = self.kept[stored.session]
        if stored.type in ("assistant", "turn_finished"):
            feed.end_step(stored.turn)
        feed.publish_records([stored])

    async def append(self, session: SessionId, *records: Record | str, turn: TurnId = TURN) -> None:
        """Append records, and tell of each."""
        for record in records:
            self.tell(await self.write(session, record, turn))

    def say(self, session: SessionId, word: str, step: int = 1) -> None:
        """Let a word of a step in flight come."""
        feed = self.kept[session]
        if feed.step is None or feed.step.step != step:
            feed.begin_step(StepText(turn=TURN, step=step, attempt=0))
        assert feed.step is not None
        feed.step.content.add(word)
        feed.wake()


class Watch:
    """What a follower was told so far."""

    def __init__(self, follower: Follower) -> None:
        self.events: list[Event] = []
        self.ended = False
        self._batches = aiter(follower)
        self._next: asyncio.Task[Sequence[Event]] | None = None

    async def on(self) -> list[Event]:
        """Read all that there is now, and give what is new."""
        before = len(self.events)
        while not self.ended:
            self._next = self._next or asyncio.create_task(_next_of(self._batches))
            await settle()
            if not self._next.done():
                break
            batch, self._next = self._next.result(), None
            self.ended = not batch
            self.events += batch
        return self.events[before:]

    async def leave(self) -> None:
        """Stop reading."""
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait({self._next}, timeout=BOUND_S)

    @property
    def records(self) -> list[StoredRecord]:
        return [event for event in self.events if isinstance(event, StoredRecord)]


async def _next_of(batches: AsyncIterator[Sequence[Event]]) -> Sequence[Event]:
    async for batch in batches:
        return batch
    return ()


@asynccontextmanager
async def watching(follower: Follower | None) -> AsyncGenerator[Watch]:
    """Follow while this is entered."""
    assert follower is not None  # it has something left to tell
    async with follower:
        watch = Watch(follower)
        try:
            yield watch
        finally:
            await watch.leave()


def told(events: Sequence[Event]) -> list[tuple[str | None, str]]:
    """Give sessions with the types of their records, or with the texts and types of their signals."""
    return [
        (event.session, event.type)
        if isinstance(event, StoredRecord)
        else (event.session, getattr(event.signal, "text", None) or getattr(event.signal, "content", event.signal.type))
        for event in events
    ]
