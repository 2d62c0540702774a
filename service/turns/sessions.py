"""Sessions and their turns: one turn at a time, each owned by a task of this service and by no request (H4, H5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from service.access.keyed_requests import KeyedRequests
from service.access.leaving_clients import LeavingClients
from service.access.model_server import ModelServer
from service.codec import decode_record
from service.core.decisions import DecisionAsked
from service.core.errors import ProblemCode, RequestRefused, SequenceConflict
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.records import Entry, PendingCall
from service.core.request_key import RequestKey
from service.core.session_status import SessionState
from service.core.signals import ShuttingDown
from service.core.turn_view import turn_view, turn_views
from service.core.views import PromptView, SessionView, TurnState, TurnView
from service.ports import Clock, SessionLog, SessionRow, StoredRecord
from service.turns.approvals import Approvals
from service.turns.compaction import Compactor
from service.turns.deletion import SessionDeletion
from service.turns.feed import Feeds
from service.turns.follower import Follower
from service.turns.following import Following
from service.turns.intake import TurnIntake
from service.turns.live_sessions import LiveSessions
from service.turns.open_turns import OpenTurns
from service.turns.pauses import Decided, Pauses
from service.turns.recovery import resume_unfinished
from service.turns.requests import SessionAsked, TurnAsked
from service.turns.session_creation import Created, SessionCreation
from service.turns.session_view import Compacted, session_view
from service.turns.store_follower import StoreFollower
from service.turns.turn_waiting import TurnWaiting
from service.turns.whole_results import whole_result


class Sessions:
    """Everything that callers do with sessions and turns; what isn't the owner's is not there."""

    def __init__(
        self,
        *,
        log: SessionLog,
        clock: Clock,
        feeds: Feeds,
        live: LiveSessions,
        server: ModelServer,
        creation: SessionCreation,
        intake: TurnIntake,
        approvals: Approvals,
        compactor: Compactor,
        open_turns: OpenTurns,
    ) -> None:
        self._log = log
        self._clock = clock
        self._feeds = feeds
        self._live = live
        self._server = server
        self._creation = creation
        self._intake = intake
        self._compactor = compactor
        self._pauses = Pauses(log, live, approvals)
        self._following = Following(log, feeds, live)
        self._keyed = KeyedRequests(log.keyed)
        self._deletion = SessionDeletion(log, live, feeds, open_turns)
        self._leaving = LeavingClients()
        self._waiting = TurnWaiting(live, feeds)

    async def create(self, asked: SessionAsked, owner: OwnerId, key: RequestKey | None = None) -> SessionView:
        """Make a session; a repeated `key` gives the one that was made with it (H3).

        Raises:
            RequestRefused: what was asked can't be had, or the service shuts down.
        """
        self._live.refuse_at_shutdown()
        async with self._keyed.first(key) as known:
            if known is None:
                created = await self._make(asked, owner, key)
            else:
                created = Created(row=await self._row(known.session, owner))
        self._feeds.hub.wake()
        return await self._view(created.row, created.entry)

    async def _make(self, asked: SessionAsked, owner: OwnerId, key: RequestKey | None) -> Created:
        source = None if asked.fork is None else await self._row(asked.fork.session, owner)
        created = await self._creation.create(asked, owner, source=source, key=key)
        if created.entry is not None:
            await self._live.made(created.row, [created.entry])
        return created

    async def view(self, session: SessionId, owner: OwnerId) -> SessionView:
        """Give the session resource."""
        return await self._view(await self._row(session, owner))

    async def page(
        self, owner: OwnerId, *, limit: int, after: SessionId | None, search: str = ""
    ) -> tuple[Sequence[SessionView], SessionId | None]:
        """Give sessions, newest first, and the cursor of the next page (None on the last one).

        Only those with `search` in their title, id or agent, when it is not empty.
        """
        rows = await self._log.sessions(owner=owner, limit=limit + 1, before=after, search=search)
        following = rows[limit - 1].id if len(rows) > limit else None
        return [await self._view(row) for row in rows[:limit]], following

    async def update(
        self, session: SessionId, owner: OwnerId, *, title: str | None, metadata: JsonObject | None
    ) -> SessionView:
        """Change title or metadata; None leaves one as it is."""
        await self._row(session, owner)
        row = await self._log.update_session(session, title=title, metadata=metadata, now=self._clock.now())
        if row is None:
            raise _no_such("session", session)
        return await self._view(row)

    async def delete(self, session: SessionId, owner: OwnerId) -> None:
        """Cancel what runs, end the followers, and remove the session with all that it kept (H9)."""
        await self._row(session, owner)
        await self._deletion.delete(session)

    def removed(self, session: SessionId) -> None:
        """Take note that the store removed an idle session: its followers end (S7, H9)."""
        self._deletion.removed(session)

    async def start_turn(
        self, session: SessionId, owner: OwnerId, asked: TurnAsked, key: RequestKey | None = None
    ) -> TurnId:
        """Take a message in; when this returns it is in the log, and its turn runs or waits for its time (H4).

        A repeated `key` gives the turn that was started with it (H3).

        Raises:
            RequestRefused: the session is busy, the message does not fit, a limit would rise, or the service shuts
                down.
        """
        self._live.refuse_at_shutdown()
        await self._known(session, owner)
        async with self._keyed.first(key) as known:
            if known is not None and known.turn is not None:
                return known.turn
            return await self._start_turn(session, owner, asked, key)

    async def _start_turn(self, session: SessionId, owner: OwnerId, asked: TurnAsked, key: RequestKey | None) -> TurnId:
        await self._waiting.settled(session)
        row = await self._known(session, owner)
        try:
            return await self._intake.take(row, asked, key)
        except SequenceConflict:
            # The session was deleted in the meantime; anything else is a fault of ours.
            await self._row(session, owner)
            raise

    async def turn(self, session: SessionId, turn: TurnId, owner: OwnerId) -> TurnView:
        """Give the turn resource."""
        await self._row(session, owner)
        return await self._turn(session, turn)

    async def turns(self, session: SessionId, owner: OwnerId) -> Sequence[TurnView]:
        """Give all turns of a session, oldest first."""
        await self._row(session, owner)
        views = turn_views(decode_record(stored.body) for stored in await self._log.read(session))
        return [await self._pauses.shown(view) for view in views]

    async def cancel(self, session: SessionId, turn: TurnId, owner: OwnerId) -> tuple[TurnView, bool]:
        """Cancel a turn; the flag says that it had ended before (T13)."""
        view = await self.turn(session, turn, owner)
        if view.state is TurnState.FINISHED:
            return view, True
        await self._waiting.settled(session)
        if await self._intake.cancel_queued(session, turn):
            return await self._turn(session, turn), False
        run = self._live.run_of(session)
        if run is None:
            # Its end could not be written: that is made good now (S5).
            self._live.keep(await self._live.load_idle(await self._row(session, owner)))
        elif run.turn == turn:
            await self._live.cancel(session)
        return await self._turn(session, turn), False

    async def decide(
        self,
        session: SessionId,
        turn: TurnId,
        owner: OwnerId,
        asked: Sequence[DecisionAsked],
        *,
        by: str,
        key: RequestKey | None = None,
    ) -> Decided:
        """Take decisions on calls of this turn, or of the child that it waits for, all or none (A2).

        Exactly the same decisions again are taken as the first time; a repeated `key` must come with them (H3).

        Raises:
            RequestRefused: one of them can't be taken, or the service shuts down.
        """
        self._live.refuse_at_shutdown()
        await self.turn(session, turn, owner)
        async with self._keyed.first(key):
            return await self._pauses.decide(session, turn, asked, by=by, key=key)

    async def pending(self, owner: OwnerId) -> Sequence[PendingCall]:
        """Give what waits for a decision, over all sessions, what was asked first before the others (A6)."""
        return await self._pauses.pending(owner)

    def left(self, session: SessionId, turn: TurnId, owner: OwnerId) -> None:
        """Take note that the client for whom the turn runs has gone: the turn is cancelled (H5).

        A client that a stopping service sends away has not gone: its turn goes on with the next start.
        """
        if not self._live.is_shutting_down:
            self._leaving.soon(turn, self.cancel(session, turn, owner))

    async def wait(self, session: SessionId, turn: TurnId, owner: OwnerId) -> TurnView:
        """Wait until the turn has ended, or waits for a person, and give it."""
        await self._row(session, owner)
        await self._waiting.over(session, turn)
        return await self._turn(session, turn)

    async def records(self, session: SessionId, owner: OwnerId, *, after: int, limit: int) -> Sequence[StoredRecord]:
        """Read the log by `seq`."""
        await self._row(session, owner)
        return await self._log.read(session, after_seq=after, limit=limit)

    async def full_text(self, session: SessionId, owner: OwnerId, seq: int) -> str:
        """Give the whole text of the tool result at this `seq`, whether the model was shown all of it or not (T9).

        Raises:
            RequestRefused: there is no such record, or it is no tool result.
        """
        await self._row(session, owner)
        return await whole_result(self._log, session, seq)

    async def messages(self, session: SessionId, owner: OwnerId) -> PromptView:
        """Give what the model would be sent now."""
        live = await self._live.look_at(await self._row(session, owner))
        return PromptView(messages=live.messages, tools=live.toolset.prompt_specs)

    async def compact(self, session: SessionId, owner: OwnerId) -> Compacted:
        """Summarise the oldest part of an idle session (C1).

        Raises:
            RequestRefused: the session is busy, or the service stops.
        """
        self._live.refuse_at_shutdown()
        await self._row(session, owner)
        await self._waiting.settled(session)
        try:
            done = await self._intake.apart(await self._row(session, owner), self._compactor.by_hand)
        except SequenceConflict:
            # The session was deleted in the meantime; anything else is a fault of ours.
            await self._row(session, owner)
            raise
        return Compacted(by_hand=done, session=await self.view(session, owner))

    async def follow(
        self,
        session: SessionId,
        owner: OwnerId,
        *,
        turn: TurnId | None,
        after_pos: int | None,
        until_pause: bool = False,
    ) -> Follower | None:
        """Prepare to follow a session or one of its turns; all that can be refused is refused here (H6).

        `until_pause` is the stream of a POST: from the turn's first record, or from behind the cursor on, every delta,
        until it ends or waits for a person. None says that the turn's end was seen already.
        """
        row = await self._known(session, owner)
        if turn is None:
            return await self._following.session(row, after_pos)
        begun = self._following.begun(session, turn) if until_pause and after_pos is None else None
        if begun is not None:
            return begun
        view = await self._turn(session, turn)
        return await self._following.turn(view, after_pos, until_pause=until_pause)

    async def follow_all(self, owner: OwnerId, after_pos: int | None) -> StoreFollower:
        """Prepare to follow all sessions of an owner; without a cursor from now on (H6)."""
        return await self._following.store(owner, after_pos)

    async def resume_unfinished(self) -> None:
        """Go on with every turn that the last process left unfinished (S4)."""
        await resume_unfinished(self._log, self._live)

    async def shut_down(self, drain_s: float) -> None:
        """Take no new turns, end the streams, and give running turns some time (H8)."""
        await self._live.shut_down(drain_s, ShuttingDown())

    async def _view(self, row: SessionRow, first: Entry | None = None) -> SessionView:
        view = session_view(row, self._server.context_tokens, first)
        if row.status.child is None or not await self._pauses.waits(row):
            return view
        return replace(view, status=replace(view.status, state=SessionState.AWAITING_APPROVAL))

    async def _row(self, session: SessionId, owner: OwnerId) -> SessionRow:
        row = await self._log.session(session)
        if row is None or row.owner != owner or self._deletion.is_going(session):
            raise _no_such("session", session)
        return row

    async def _known(self, session: SessionId, owner: OwnerId) -> SessionRow:
        """Give the row for what never changes of it: from memory, where the session is there."""
        live = self._live.loaded(session)
        if live is None or live.row.owner != owner or self._deletion.is_going(session):
            return await self._row(session, owner)
        return live.row

    async def _turn(self, session: SessionId, turn: TurnId) -> TurnView:
        stored = await self._log.read(session, turn=turn)
        if not stored:
            raise _no_such("turn", turn)
        return await self._pauses.shown(turn_view([decode_record(record.body) for record in stored]))


def _no_such(what: str, name: str) -> RequestRefused:
    return RequestRefused(ProblemCode.NOT_FOUND, f"There is no {what} {name!r}.")
