"""Makes sessions and their first records: with a baseline of their own, or as forks of others (G1, H10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.codec import encode_record
from service.core.chain import Head
from service.core.errors import TooManySessions
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.labels import DataClass
from service.core.owner_bounds import OwnerBounds
from service.core.records import Entry, ParentLink, SessionCreated, TurnOptions, User
from service.core.request_key import RequestKey
from service.core.session_status import SessionStatus
from service.core.turn_fold import fold
from service.core.turn_view import session_status
from service.ports import Clock, Ids, NewSession, RecordDraft, SessionLog, SessionRow, StoredRecord
from service.turns.requests import ForkAsked, SessionAsked
from service.turns.session_forking import SessionForking
from service.turns.session_making import BaselineMaker, MadeBaseline


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildAsked:
    """A session that answers a call of another one, with the turn in which it does (G2).

    It starts with its parent's labels, `data_class` and `untrusted` (X6), `depth` handoffs below the first session.
    """

    session: SessionId
    turn: TurnId
    agent: str
    owner: OwnerId
    parent: ParentLink
    depth: int
    data_class: DataClass
    untrusted: bool
    content: str
    options: TurnOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A session that a request has made; `entry` is its one record, None where it has more or is known of old."""

    row: SessionRow
    entry: Entry | None = None


class SessionCreation:
    """Puts new sessions into the store."""

    def __init__(self, log: SessionLog, clock: Clock, ids: Ids, baselines: BaselineMaker, bounds: OwnerBounds) -> None:
        self._log = log
        self._clock = clock
        self._ids = ids
        self._baselines = baselines
        self._bounds = bounds
        self._forking = SessionForking(log)

    async def create(
        self, asked: SessionAsked, owner: OwnerId, *, source: SessionRow | None, key: RequestKey | None
    ) -> Created:
        """Make a session; a fork is made of `source`, the session that it names. `key` is kept with it (H3).

        Raises:
            RequestRefused: what was asked can't be had, or the owner has as many sessions as are allowed.
        """
        if asked.fork is not None and source is not None:
            return await self._fork(asked, asked.fork, source, owner, key)
        made = await self._baselines.make(asked)
        await self._keep_specs(made)
        session = self._new(asked, owner, made.agent)
        record = SessionCreated(agent=made.agent, baseline=made.baseline)
        entry = Entry(session=session.id, turn=None, seq=1, time=session.created_at, record=record)
        draft = RecordDraft(turn=None, type=record.type, body=encode_record(entry))
        status = SessionStatus()
        stored = await self._store(session, [draft], status, key)
        return Created(row=_row_of(session, status, stored), entry=entry)

    async def _fork(
        self, asked: SessionAsked, fork: ForkAsked, source: SessionRow, owner: OwnerId, key: RequestKey | None
    ) -> Created:
        session = self._new(asked, owner, source.agent)
        forked = await self._forking.fork(source, fork, session.id, session.created_at)
        stored = await self._store(session, forked.drafts, forked.status, key)
        return Created(row=_row_of(session, forked.status, stored))

    async def _store(
        self, session: NewSession, drafts: Sequence[RecordDraft], status: SessionStatus, key: RequestKey | None
    ) -> Sequence[StoredRecord]:
        try:
            return await self._log.create_session(session, drafts, status, key=key, at_most=self._bounds.sessions)
        except TooManySessions as full:
            raise self._bounds.too_many_sessions() from full

    async def create_child(self, asked: ChildAsked) -> Sequence[StoredRecord]:
        """Make a session whose first turn is open, in one write: whoever finds it finds its message, too.

        However many sessions its owner has: the turn that hands over is not to fail by that.

        Raises:
            RequestRefused: there is no such agent any more, or its tools can't be had.
        """
        made = await self._baselines.make(SessionAsked(agent=asked.agent))
        await self._keep_specs(made)
        baseline = made.baseline
        now = self._clock.now()
        session = NewSession(
            id=asked.session,
            owner=asked.owner,
            title="",
            metadata={},
            agent=made.agent,
            parent=asked.parent,
            created_at=now,
        )
        created = SessionCreated(
            agent=made.agent,
            baseline=baseline,
            parent=asked.parent,
            data_class=asked.data_class,
            untrusted=asked.untrusted,
            depth=asked.depth,
        )
        user = User(content=asked.content, options=replace(asked.options, limits=baseline.limits))
        entries = [
            Entry(session=session.id, turn=None, seq=1, time=now, record=created),
            Entry(session=session.id, turn=asked.turn, seq=2, time=now, record=user),
        ]
        drafts = [RecordDraft(turn=entry.turn, type=entry.record.type, body=encode_record(entry)) for entry in entries]
        return await self._log.create_session(session, drafts, session_status(fold(entries)))

    async def _keep_specs(self, made: MadeBaseline) -> None:
        if made.specs is not None and made.baseline.tools.hash is not None:
            # Before the session that names them, so that a crash in between leaves no session without its specs.
            await self._log.put_specs(made.baseline.tools.hash, made.specs)

    def _new(self, asked: SessionAsked, owner: OwnerId, agent: str | None) -> NewSession:
        return NewSession(
            id=self._ids.session(),
            owner=owner,
            title=asked.title,
            metadata=asked.metadata,
            agent=agent,
            parent=None,
            created_at=self._clock.now(),
        )


def _row_of(session: NewSession, status: SessionStatus, stored: Sequence[StoredRecord]) -> SessionRow:
    """Give the row of a session that was just made with these records."""
    return SessionRow(
        id=session.id,
        owner=session.owner,
        title=session.title,
        metadata=session.metadata,
        agent=session.agent,
        parent=session.parent,
        created_at=session.created_at,
        updated_at=session.created_at,
        status=status,
        head=Head(seq=stored[-1].seq, hash=stored[-1].hash),
        created=stored[0].body,
    )
