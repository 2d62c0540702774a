"""Makes sessions and their first records: with a baseline of their own, or as forks of others (G1, H10)."""

from __future__ import annotations

from service.codec import encode_record
from service.core.ids import OwnerId, SessionId
from service.core.records import Entry, SessionCreated
from service.core.request_key import RequestKey
from service.core.session_status import SessionStatus
from service.ports import Clock, Ids, NewSession, RecordDraft, SessionLog, SessionRow
from service.turns.requests import ForkAsked, SessionAsked
from service.turns.session_forking import SessionForking
from service.turns.session_making import BaselineMaker


class SessionCreation:
    """Puts new sessions into the store."""

    def __init__(self, log: SessionLog, clock: Clock, ids: Ids, baselines: BaselineMaker) -> None:
        self._log = log
        self._clock = clock
        self._ids = ids
        self._baselines = baselines
        self._forking = SessionForking(log)

    async def create(
        self, asked: SessionAsked, owner: OwnerId, *, source: SessionRow | None, key: RequestKey | None
    ) -> SessionId:
        """Make a session; a fork is made of `source`, the session that it names. `key` is kept with it (H3).

        Raises:
            RequestRefused: what was asked can't be had.
        """
        if asked.fork is not None and source is not None:
            return await self._fork(asked, asked.fork, source, owner, key)
        made = await self._baselines.make(asked)
        if made.specs is not None and made.baseline.tools.hash is not None:
            # Before the session that names them, so that a crash in between leaves no session without its specs.
            await self._log.put_specs(made.baseline.tools.hash, made.specs)
        session = self._new(asked, owner, made.agent)
        record = SessionCreated(agent=made.agent, baseline=made.baseline)
        entry = Entry(session=session.id, turn=None, seq=1, time=session.created_at, record=record)
        draft = RecordDraft(turn=None, type=record.type, body=encode_record(entry))
        await self._log.create_session(session, [draft], SessionStatus(), key=key)
        return session.id

    async def _fork(
        self, asked: SessionAsked, fork: ForkAsked, source: SessionRow, owner: OwnerId, key: RequestKey | None
    ) -> SessionId:
        session = self._new(asked, owner, source.agent)
        forked = await self._forking.fork(source, fork, session.id, session.created_at)
        await self._log.create_session(session, forked.drafts, forked.status, key=key)
        return session.id

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
