"""Plays a conversation: real turns over fakes, struck where the plan says so, through as many restarts as it wants."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from service.codec import decode_record
from service.core.agents import AgentProfiles
from service.core.baseline import Limits, Thinking
from service.core.errors import ProblemCode, RequestRefused, StoreFailure
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.turn_state import Phase
from service.core.views import TurnState
from service.turns.requests import ToolsAsked
from tests.conversations.moments import Moments, PacedPort, ProcessLog, TurnClock
from tests.conversations.people import People
from tests.conversations.plan import Blow, Conversation, Strike, TurnPlan
from tests.conversations.planned_llama import PlannedLlama, as_json
from tests.conversations.played import BehindTurn, Played, PlayedSession
from tests.conversations.world import AGENTS, PROFILES
from tests.fakes.clock import CountingIds
from tests.fakes.house import House
from tests.fakes.llama import GONE

BOUND_S = 30
"""Real seconds after which a conversation hangs; it takes some milliseconds, and a busy machine may stand still."""

_HOUR_S = 3600.0
# More than a strike makes anyone wait.
_ROUNDS_TO_END = 100
# More than any conversation has.
_MOST_SESSIONS = 1000
# Only the settings can leave repeats alone; each session says for itself whether it does.
_ALLOWED = Limits(repeat_detection=False)
_LAST_WORDS = "Are you still there?"


async def play(plan: Conversation) -> Played:
    """Play a conversation to its end, and one plain turn behind it.

    Raises:
        TimeoutError: it hangs.
    """
    async with asyncio.timeout(BOUND_S):
        return await _Driver(plan).play()


class _Driver:
    def __init__(self, plan: Conversation) -> None:
        self._plan = plan
        self._moments = Moments(self._strike)
        self._llama = PlannedLlama(self._moments, lambda: self._house, context_tokens=plan.context_tokens)
        self._llama.server = replace(self._llama.server, template=PROFILES[plan.profile])
        self._port = PacedPort(self._moments, plan.pace)
        self._clock = TurnClock(self._moments)
        self._people = People(self._moments, self._clock, lambda: self._house, wait_s=plan.approval_wait_s)
        self._ids = CountingIds()
        self._log = ProcessLog(self._moments)
        self._house = self._new_house()
        self._session = SessionId("")
        self._started = asyncio.Event()
        self._restarting = asyncio.Lock()
        self._not_ours = asyncio.all_tasks()
        self._played = Played(plan)

    def _new_house(self) -> House:
        plan = self._plan
        return House(
            self._llama,
            self._port,
            log=self._log,
            agents=AGENTS if plan.agents else AgentProfiles(),
            ids=self._ids,
            clock=self._clock,
            limits=_ALLOWED,
            approval_wait_s=plan.approval_wait_s,
            approve_after_untrusted=plan.guarded,
            compact_messages=plan.compact_messages,
        )

    async def play(self) -> Played:
        unseen = self._played.unseen_errors
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(str(context)))
        self._session = await self._make_session()
        for turn in self._plan.turns:
            await self._turn(turn)
        self._log.failures = 0
        last = await self._turn(TurnPlan(_LAST_WORDS))
        await self._look_behind(last)
        return self._played

    async def _make_session(self) -> SessionId:
        plan, sessions = self._plan, self._house.sessions
        profile = PROFILES[plan.profile] if plan.met_server else None
        no_switch = profile is None or profile.thinking_off == "none"
        self._llama.away = None if plan.met_server else GONE
        session = await self._house.session(
            system=plan.system,
            tools=ToolsAsked(names=plan.tools, mode=plan.mode),
            thinking=Thinking.ON if no_switch else plan.thinking,
            limits=plan.limits,
            compaction=plan.compaction,
        )
        self._llama.away = None
        # A process that lives on with a session read from the store is the same as one that was started anew.
        await sessions.view(session, LOCAL_OWNER)
        return session

    async def _turn(self, plan: TurnPlan) -> TurnId | None:
        self._llama.plan(self._session, plan.plays, plan.summaries, endless=plan.endless)
        self._people.plan(plan.words)
        self._moments.plan(plan.strikes)
        if plan.compact:
            await self._compact()
        turn = await self._start(plan)
        await self._finish()
        self._moments.plan(())
        await self._look_at_messages()
        return turn

    async def _compact(self) -> None:
        self._started.clear()
        try:
            done = await self._house.sessions.compact(self._session, LOCAL_OWNER)
            self._played.compacted += done.by_hand.summary is not None
        except (RequestRefused, StoreFailure):
            # The turn before is open still, or the store is broken: it goes on without.
            pass
        finally:
            self._started.set()

    async def _start(self, plan: TurnPlan) -> TurnId | None:
        self._started.clear()
        try:
            return await self._house.start(
                self._session,
                plan.content,
                tool_choice=plan.tool_choice,
                on_tool_limit=plan.on_tool_limit,
                limits=plan.limits,
                response_format=plan.response_format,
            )
        except RequestRefused as refused:
            self._played.refused.append(refused.code)
            return None
        except StoreFailure:
            return None
        finally:
            self._started.set()

    async def _finish(self) -> None:
        """Wait until the turn is over, in whichever process it ends, and nothing strikes any more."""
        while True:
            await self._moments.settled()
            house, turn = self._house, await self._newest_turn(self._session)
            if turn is not None and await self._waits(house, turn):
                continue
            if not await self._moments.settled() and house is self._house:
                break

    async def _waits(self, house: House, turn: TurnId) -> bool:
        """Wait for the turn's end; when it waits for people, let them decide, and say that it goes on."""
        # Not by house.finish, which reads the whole turn each time.
        await house.sessions._waiting.over(self._session, turn)  # pyright: ignore[reportPrivateUsage]
        pending = await house.sessions.pending(LOCAL_OWNER)
        if not pending:
            # What it waited for may just have expired: then it runs on, as soon as that write is through.
            await asyncio.sleep(0)
            run = house.sessions._live.run_of(self._session)  # pyright: ignore[reportPrivateUsage]
            return run is not None and run.turn == turn and run.live.state.phase is not Phase.IDLE
        view = await house.sessions.turn(self._session, turn, LOCAL_OWNER)
        return view.state is TurnState.AWAITING_APPROVAL and await self._people.decide(view)

    async def _newest_turn(self, session: SessionId) -> TurnId | None:
        turns = [stored.turn for stored in await self._log.read(session) if stored.turn is not None]
        return turns[-1] if turns else None

    async def _strike(self, strike: Strike) -> None:
        self._played.struck.append(strike)
        match strike.blow:
            case Blow.CANCEL:
                await self._cancel(self._session)
            case Blow.CANCEL_CHILD:
                await self._cancel((await self._log.family(self._session))[-1])
            case Blow.STOP | Blow.KILL:
                await self._restart(at_once=strike.blow is Blow.KILL)
            case Blow.TIME:
                self._clock.advance(_HOUR_S)
            case Blow.STORE | Blow.DISK:
                self._log.failures += 1 if strike.blow is Blow.STORE else 2

    async def _cancel(self, session: SessionId) -> None:
        # A service that starts takes no requests before it has taken up what was left open.
        async with self._restarting:
            house = self._house
        turn = await self._newest_turn(session)
        if turn is not None:
            try:
                await house.sessions.cancel(session, turn, LOCAL_OWNER)
            except RequestRefused as refused:
                # A turn that nothing runs any more belongs to the next start.
                if refused.code is not ProblemCode.SHUTTING_DOWN:
                    raise
            except StoreFailure:
                pass

    async def _restart(self, *, at_once: bool) -> None:
        log = self._log
        log.gone = log.gone or at_once
        # What is being taken in, or taken up, would end with its process; here it is waited for.
        await self._started.wait()
        async with self._restarting:
            if self._log is not log:
                return
            await self._house.sessions.shut_down(0)
            log.gone = True
            self._log = ProcessLog(self._moments, after=log)
            self._house = self._new_house()
            await self._house.sessions.resume_unfinished()

    async def _look_at_messages(self) -> None:
        messages = (await self._house.sessions.messages(self._session, LOCAL_OWNER)).messages
        last = next((sent for sent in reversed(self._llama.sent) if sent.session == self._session), None)
        records = len(await self._log.read(self._session))
        if last is not None and last.for_summary:
            last = None
        self._played.behind_turns.append(BehindTurn(as_json(messages), last, records, self._log.refused))

    async def _look_behind(self, last: TurnId | None) -> None:
        played, sessions = self._played, self._house.sessions
        if last is not None:
            played.last = await sessions.turn(self._session, last, LOCAL_OWNER)
        rows = await self._log.sessions(owner=LOCAL_OWNER, limit=_MOST_SESSIONS)
        played.sessions = [await self._session_behind(row.id) for row in reversed(rows)]
        played.summaries = [sent for sent in self._llama.sent if sent.for_summary]
        played.pending = await sessions.pending(LOCAL_OWNER)
        played.answered = self._people.answered
        for _ in range(_ROUNDS_TO_END):
            if not asyncio.all_tasks() - self._not_ours:
                break
            await asyncio.sleep(0)
        gate, tasks = self._house.turns.gate, len(asyncio.all_tasks() - self._not_ours)
        played.left_behind = (gate.in_use, gate.waiting, self._llama.in_flight, self._port.in_flight, tasks)

    async def _session_behind(self, session: SessionId) -> PlayedSession:
        stored = await self._log.read(session)
        return PlayedSession(
            id=session,
            entries=[decode_record(record.body) for record in stored],
            positions=[record.pos for record in stored],
            messages=as_json((await self._house.sessions.messages(session, LOCAL_OWNER)).messages),
            sent=[sent for sent in self._llama.sent if sent.session == session and not sent.for_summary],
            calls=[call for call in self._port.calls if call.session == session],
        )
