"""A session in memory while its turns run: the fold of its log, and the one place that appends to it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from service.access.written import written
from service.codec import decode_record, encode_record
from service.core.baseline import Baseline
from service.core.cache import PromptSizes
from service.core.ids import TurnId
from service.core.json_types import JsonObject
from service.core.labels import DataClass
from service.core.projection import Projection
from service.core.records import Assistant, Entry, Record, SessionCreated, Summary, ToolResult, TurnFinished, User
from service.core.request_key import RequestKey
from service.core.toolset import Toolset
from service.core.turn_fold import apply
from service.core.turn_state import TurnState
from service.core.turn_view import session_status
from service.ports import Clock, Meter, RecordDraft, SessionLog, SessionRow, StoredRecord
from service.ports.tracer import TurnSpan
from service.turns.feed import Feed
from service.turns.open_turns import OpenTurns
from service.turns.turn_end import TurnTimes, cost_of, tell


@dataclass(frozen=True, slots=True)
class CutResult:
    """Where the whole text of a cut result is kept, and the labels that go with all that is read of it (X6).

    `text` is the whole text of a result that was not cut itself, but is shown shortened since a summary (C1).
    """

    seq: int
    data_class: DataClass
    untrusted: bool
    text: str | None = None


class LiveSession:
    """One session's fold and projection, kept in step with its log by `append`.

    `row` is the session's row as it was at some time: what never changes of it is right, its owner and its parent.
    After a `StoreFailure` the memory may lag behind the log: the owner drops it and loads it anew.
    """

    def __init__(
        self,
        row: SessionRow,
        *,
        baseline: Baseline,
        toolset: Toolset,
        feed: Feed,
        log: SessionLog,
        clock: Clock,
        meter: Meter,
        open_turns: OpenTurns,
    ) -> None:
        self.row = row
        self.id = row.id
        self.baseline = baseline
        self.toolset = toolset
        self.feed = feed
        self.state = TurnState()
        self.last_seq = 0
        # The seq of the open turn's first record; None where that is none of its running, but of its waiting.
        self.begun_at: int | None = None
        self.prompt_sizes = PromptSizes()
        # The turn of the queue whose message is just being put into the prompt; nothing runs it yet.
        self.taking_up: TurnId | None = None
        self.cut_results: dict[int, CutResult] = {}
        self.times = TurnTimes()
        # Of the turn that runs, while it does.
        self.span: TurnSpan | None = None
        self._projection = Projection()
        self._log = log
        self._clock = clock
        self._meter = meter
        self._open_turns = open_turns
        self._appending = asyncio.Lock()
        # Held from the look at what waits for a decision to the record of it: of two deciders one wins (A2).
        self.deciding = asyncio.Lock()
        self._watchers: set[asyncio.Event] = set()

    def load(self, entries: Iterable[Entry]) -> None:
        """Take the log, or the next part of it; before anything else is done with the session."""
        for entry in entries:
            self._take(entry, apply(self.state, entry))
        self.times.from_its_start = self.state.step == 0 and not self.state.failures

    @property
    def messages(self) -> tuple[JsonObject, ...]:
        """What the model would be sent now."""
        return self._projection.messages

    @property
    def projection(self) -> Projection:
        """The log as the model sees it, for reading only."""
        return self._projection

    def messages_with(self, content: str) -> tuple[JsonObject, ...]:
        """Give what the model would be sent if this were the user's next message (C0)."""
        return self._projection.with_question(content)

    async def append(
        self,
        *records: Record,
        turn: TurnId | None = None,
        wholes: Mapping[int, str] | None = None,
        key: RequestKey | None = None,
    ) -> Sequence[StoredRecord]:
        """Append records to the log, fold them, then publish them, in this order and as one; give them as stored.

        `wholes` are the whole texts of results that were cut, by call; they are kept beside them (T9). `key` is that
        of the request that they answer (H3). A cancel that comes while the write is under way waits for it: the log
        and the memory never part.

        Raises:
            StoreFailure: nothing was kept.
        """
        turn = turn if turn is not None else self.state.turn
        return await written(self._append(records, turn, wholes or {}, key))

    async def _append(
        self, records: Sequence[Record], turn: TurnId | None, wholes: Mapping[int, str], key: RequestKey | None
    ) -> Sequence[StoredRecord]:
        async with self._appending:
            entries = self._entries(records, turn)
            states: list[TurnState] = []
            state = self.state
            for entry in entries:
                state = apply(state, entry)
                states.append(state)
            drafts = [_draft(entry, wholes) for entry in entries]
            end = entries[-1]
            before = states[-2] if len(states) > 1 else self.state
            stored = await self._log.append(self.id, self.last_seq, drafts, session_status(state), end.time, key=key)
            for entry, after in zip(entries, states, strict=True):
                self._take(entry, after)
            self.count_turns()
            self._publish(stored)
            self.tell_watchers()
            self._meter.appended(entries)
            if isinstance(end.record, TurnFinished):
                cost = cost_of(before, end, self.times)
                self._meter.turn_ended(cost)
                span = self.span if before.turn == end.turn else None
                if span is not None:
                    span.ended(cost, end.record.content or "")
                tell(self.id, end.turn, cost, None if span is None else span.trace_id)
            return stored

    def count_turns(self) -> None:
        """Let its turns that have not ended count as such; for what was appended this is done already (K3)."""
        self._open_turns.note(self.id, self.row.owner, self.state)

    @contextmanager
    def watched(self) -> Generator[asyncio.Event]:
        """Give an event that is set whenever records were appended, or a child began or ceased to wait."""
        changed = asyncio.Event()
        self._watchers.add(changed)
        try:
            yield changed
        finally:
            self._watchers.discard(changed)

    def tell_watchers(self) -> None:
        """Let those who wait for the turn's state look at it again."""
        for changed in self._watchers:
            changed.set()

    def _entries(self, records: Sequence[Record], turn: TurnId | None) -> list[Entry]:
        now = self._clock.now()
        return [
            Entry(session=self.id, turn=turn, seq=self.last_seq + place, time=now, record=record)
            for place, record in enumerate(records, start=1)
        ]

    def _take(self, entry: Entry, after: TurnState) -> None:
        record = entry.record
        if isinstance(record, User):
            self.times = TurnTimes()
            self.begun_at = None if entry.turn in self.state.waiting_turns else entry.seq
        self.state = after
        if isinstance(record, Assistant):
            self.prompt_sizes = self.prompt_sizes.after(record, len(self._projection))
        elif isinstance(record, ToolResult) and record.truncated:
            self.cut_results[record.call] = CutResult(entry.seq, record.data_class, record.untrusted)
        elif isinstance(record, Summary):
            self._note_shortened(record)
        self._projection.apply(record, entry.turn)
        if isinstance(record, Summary):
            self.prompt_sizes = self.prompt_sizes.after_summary(self._projection.settled)
        self.last_seq = entry.seq

    def _note_shortened(self, summary: Summary) -> None:
        for block in self._projection.blocks:
            for result in block.results:
                if result.call in summary.shortened and result.call not in self.cut_results:
                    cut = CutResult(block.last_seq, result.data_class, result.untrusted, text=result.content)
                    self.cut_results[result.call] = cut

    def _publish(self, stored: Sequence[StoredRecord]) -> None:
        # In one go, so that no follower sees a step both as its record and as text in flight.
        for turn in {record.turn for record in stored if record.type in _ENDS_STEP}:
            self.feed.end_step(turn)
        self.feed.publish_records(stored)


def _draft(entry: Entry, wholes: Mapping[int, str]) -> RecordDraft:
    record = entry.record
    whole = wholes.get(record.call) if isinstance(record, ToolResult) else None
    return RecordDraft(
        turn=entry.turn,
        type=record.type,
        body=encode_record(entry),
        full=None if whole is None else whole.encode(),
    )


_ENDS_STEP = frozenset({"assistant", "attempt", "turn_finished"})


def baseline_of(created: bytes) -> Baseline:
    """Read the baseline from the body of a session's first record."""
    record = decode_record(created).record
    assert isinstance(record, SessionCreated)  # seq 1 is nothing else
    return record.baseline
