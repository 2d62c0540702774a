"""Plays a conversation: real turns over fakes, struck where the plan says so, through as many restarts as it wants."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace

from service.codec import decode_record
from service.core.baseline import Limits, TemplateProfile, Thinking
from service.core.errors import RequestRefused, StoreFailure
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import Entry
from service.core.views import TurnView
from service.turns.requests import ToolsAsked
from tests.conversations.moments import Moments, PacedPort, ProcessLog, TurnClock
from tests.conversations.plan import Blow, Conversation, Strike, TurnPlan
from tests.conversations.planned_llama import PlannedLlama, Sent, as_json
from tests.conversations.world import PROFILES
from tests.fakes.clock import CountingIds
from tests.fakes.house import House
from tests.fakes.llama import GONE

BOUND_S = 5
"""Real seconds after which a conversation hangs."""

_HOUR_S = 3600.0
# More than a strike makes anyone wait.
_ROUNDS_TO_END = 100
# Only the settings can leave repeats alone; each session says for itself whether it does.
_ALLOWED = Limits(repeat_detection=False)
_LAST_WORDS = "Are you still there?"


@dataclass(slots=True)
class Played:
    """What a conversation left: its log, what the model was sent, and what was seen behind each turn."""

    profile: TemplateProfile | None
    entries: list[Entry] = field(default_factory=list[Entry])
    sent: list[Sent] = field(default_factory=list[Sent])
    keys: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """How often the port got which tool's call under which idempotency key."""
    behind_turns: list[BehindTurn] = field(default_factory=list["BehindTurn"])
    struck: list[Strike] = field(default_factory=list[Strike])
    refused: int = 0
    last: TurnView | None = None
    unseen_errors: list[str] = field(default_factory=list[str])
    """Errors of tasks that nobody waited for."""
    left_behind: tuple[int, ...] = ()
    """What should be nothing: permits in use, waiters, streams, calls and tasks."""


@dataclass(frozen=True, slots=True)
class BehindTurn:
    """The session behind a turn: the messages that its API gives, the last prompt sent, and the log so far.

    `refused_writes` counts those of all turns up to here.
    """

    messages: str
    last_prompt: str
    records: int
    refused_writes: int


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
        self._llama = PlannedLlama(self._moments)
        self._llama.server = replace(self._llama.server, template=PROFILES[plan.profile])
        self._port = PacedPort(self._moments, plan.pace)
        self._clock = TurnClock(self._moments)
        self._ids = CountingIds()
        self._log = ProcessLog(self._moments)
        self._house = self._new_house()
        self._session = SessionId("")
        self._started = asyncio.Event()
        self._restarting = asyncio.Lock()
        self._not_ours = asyncio.all_tasks()
        self._played = Played(None)

    def _new_house(self) -> House:
        return House(self._llama, self._port, log=self._log, ids=self._ids, clock=self._clock, limits=_ALLOWED)

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
        )
        self._llama.away = None
        # A process that lives on with a session read from the store is the same as one that was started anew.
        created = (await sessions.view(session, LOCAL_OWNER)).baseline
        self._played.profile = created.template
        return session

    async def _turn(self, plan: TurnPlan) -> TurnId | None:
        self._llama.plan(plan.plays, endless=plan.endless)
        self._moments.plan(plan.strikes)
        turn = await self._start(plan)
        await self._finish()
        self._moments.plan(())
        await self._look_at_messages()
        return turn

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
        except RequestRefused:
            self._played.refused += 1
            return None
        except StoreFailure:
            return None
        finally:
            self._started.set()

    async def _finish(self) -> None:
        """Wait until the turn is over, in whichever process it ends, and nothing strikes any more."""
        while True:
            await self._moments.settled()
            house, turn = self._house, await self._newest_turn()
            if turn is not None:
                await house.finish(self._session, turn)
            if not await self._moments.settled() and house is self._house:
                break

    async def _newest_turn(self) -> TurnId | None:
        return (await self._log.read(self._session))[-1].turn

    async def _strike(self, strike: Strike) -> None:
        self._played.struck.append(strike)
        match strike.blow:
            case Blow.CANCEL:
                await self._cancel()
            case Blow.STOP | Blow.KILL:
                await self._restart(at_once=strike.blow is Blow.KILL)
            case Blow.TIME:
                self._clock.advance(_HOUR_S)
            case Blow.STORE | Blow.DISK:
                self._log.failures += 1 if strike.blow is Blow.STORE else 2

    async def _cancel(self) -> None:
        # A service that starts takes no requests before it has taken up what was left open.
        async with self._restarting:
            house = self._house
        turn = await self._newest_turn()
        if turn is not None:
            with suppress(StoreFailure):
                await house.sessions.cancel(self._session, turn, LOCAL_OWNER)

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
        last_prompt = self._llama.sent[-1].prompt if self._llama.sent else "[]"
        records = len(await self._log.read(self._session))
        self._played.behind_turns.append(BehindTurn(as_json(messages), last_prompt, records, self._log.refused))

    async def _look_behind(self, last: TurnId | None) -> None:
        played = self._played
        if last is not None:
            played.last = await self._house.sessions.turn(self._session, last, LOCAL_OWNER)
        played.entries = [decode_record(stored.body) for stored in await self._log.read(self._session)]
        played.sent = self._llama.sent
        played.keys = Counter((call.tool, call.idempotency_key) for call in self._port.calls)
        for _ in range(_ROUNDS_TO_END):
            if not asyncio.all_tasks() - self._not_ours:
                break
            await asyncio.sleep(0)
        gate, tasks = self._house.turns.gate, len(asyncio.all_tasks() - self._not_ours)
        played.left_behind = (gate.in_use, gate.waiting, self._llama.in_flight, self._port.in_flight, tasks)
