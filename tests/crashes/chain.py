"""One service that is killed and started again and again on one store, conversation after conversation.

A start is for the rest of one conversation and for the beginning of the next.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import httpx

from service.bootstrap import look_at_store
from service.core.ids import SessionId
from service.core.json_types import JsonObject
from service.core.kept_heads import head_line
from tests.cases.fake_port import PortCall
from tests.cases.replies import Reply
from tests.cases.strict_llama import Asked
from tests.crashes.client import BOUND_S, PersistentClient
from tests.crashes.conversation import Conversation, begin_conversation, last_message
from tests.crashes.dying_service import Trap
from tests.crashes.judgement import RESUME_ATTEMPTS, RETRY_ATTEMPTS, faults_of
from tests.crashes.kill_points import KillPoint, Moments
from tests.crashes.plans import Plan
from tests.crashes.scenarios import SCENARIOS, Scenario
from tests.crashes.service_process import ServiceProcess
from tests.crashes.watched_fakes import LONG_TEXT, WatchedLlama, WatchedPort

DYING = "tests.crashes.dying_service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of a plan.

    `killed` counts the points that the service came to; at the others it was killed when the conversation was over.
    `sent_again` counts calls that the port got once more. `moments` and `log` are without the last question.
    """

    plan: Plan
    killed: int
    sent_again: int
    faults: tuple[str, ...]
    moments: Counter[str]
    log: tuple[JsonObject, ...] = ()


class Chain:
    """Plays plans one after the other; `heads` are the lines to be kept of the logs that it has left."""

    def __init__(self, service: ServiceProcess, llama: WatchedLlama, port: WatchedPort, moments: Moments) -> None:
        self.service = service
        self.heads: list[str] = []
        self._numbers = itertools.count(1)
        self._llama = llama
        self._port = port
        self._moments = moments

    async def play(self, plans: Sequence[Plan]) -> AsyncGenerator[Played]:
        """Play them all."""
        numbered = [replace(plan, number=number) for plan, number in zip(plans, self._numbers, strict=False)]
        await self._restart(numbered[0])
        for plan, following in itertools.zip_longest(numbered, numbered[1:]):
            yield await self._play(plan, following)

    async def _play(self, plan: Plan, following: Plan | None) -> Played:
        scenario = SCENARIOS[plan.scenario]
        talk = begin_conversation(plan.mark, scenario.on_busy)
        self._llama.play(talk.first_message, partial(_scripted, scenario, talk))
        moments, killed = Counter[str](), 0
        faults: list[str] = []
        log: list[JsonObject] = []
        try:
            for life in range(len(plan.points) + 1):
                point = plan.points[life] if life < len(plan.points) else None
                await self._live(talk, scenario, life, point)
                moments = moments or self._moments.seen.copy()
                killed += self.service.died.is_set()
                if point is not None:
                    talk.kills += 1
                    last = life + 1 == len(plan.points)
                    await (self._restart(following) if last else self._restart(plan, life + 1, talk))
            async with self._client() as client:
                log = await self._look(client, talk, scenario, faults)
        except (AssertionError, httpx.HTTPError, TimeoutError) as error:
            faults.append(f"{type(error).__name__}: {error}")
            await self._restart(following)
        sent = [call.key for call in self._sent_in(talk)]
        return Played(
            plan=plan,
            killed=killed,
            sent_again=len(sent) - len(set(sent)),
            faults=tuple(faults),
            moments=moments,
            log=tuple(log),
        )

    def _sent_in(self, talk: Conversation) -> Sequence[PortCall]:
        return [call for call in self._port.calls if call.body["session"] == talk.session_id]

    async def _restart(self, plan: Plan | None, life: int = 0, talk: Conversation | None = None) -> None:
        """Start the service for this life of a plan."""
        await self.service.kill()
        trap = None if plan is None else _trap(plan, life, talk)
        module = "" if plan is None or not plan.fresh else "service" if trap is None else DYING
        extra = trap.as_variable() if trap is not None else None
        await self.service.start(extra, module=module, may_die=trap is not None)

    async def _live(self, talk: Conversation, scenario: Scenario, life: int, point: KillPoint | None) -> None:
        """Play the conversation to its end or to the service's."""
        self._moments.begin(self.service.kill, point, scenario.held if life == 0 else None)
        async with self._client() as client:
            telling = asyncio.create_task(
                client.begin(talk, holds=scenario.held is not None, cancels=scenario.cancels)
                if life == 0
                else client.go_on(talk, cancels=scenario.cancels),
                name="client",
            )
            dying = asyncio.create_task(self.service.died.wait(), name="death")
            timer = asyncio.create_task(self._kill_in_time(point), name="timer")
            try:
                await asyncio.wait({telling, dying}, return_when=asyncio.FIRST_COMPLETED, timeout=BOUND_S)
                if self.service.died.is_set():
                    # Its connections break.
                    await asyncio.wait({telling}, timeout=BOUND_S)
                assert telling.done(), "the conversation is stuck"
                await self._judge_end(telling, dying)
            finally:
                for task in (telling, dying, timer):
                    task.cancel()
                await asyncio.gather(telling, dying, timer, return_exceptions=True)

    async def _judge_end(self, telling: asyncio.Task[None], dying: asyncio.Task[bool]) -> None:
        error = telling.exception()
        if isinstance(error, httpx.TransportError):
            # The news of a death may come later than that of a broken connection.
            await asyncio.wait({dying}, timeout=BOUND_S)
            assert self.service.died.is_set(), f"a connection broke: {error!r}"
        elif error is not None:
            raise error

    async def _kill_in_time(self, point: KillPoint | None) -> None:
        if point is not None and point.kind == "time":
            await asyncio.sleep(point.nth / 1000)
            await self.service.kill()

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[PersistentClient]:
        # One for each life: the connections of the one before are dead.
        async with httpx.AsyncClient(
            base_url=self.service.address, timeout=BOUND_S, trust_env=False, verify=False
        ) as http:
            yield PersistentClient(http, self._moments)

    async def _look(
        self, client: PersistentClient, talk: Conversation, scenario: Scenario, faults: list[str]
    ) -> list[JsonObject]:
        """Ask once more, then judge the whole conversation; give its log without the last turn."""
        session = await client.get(f"{talk.session}")
        if (session["state"], session["running"], session["queued"]) != ("idle", None, []):
            faults.append(f"the session is {session['state']}, with {session['running']}, {session['queued']}")
        last = await client.run(talk, last_message(talk))
        if last["outcome"] != "answered":
            faults.append(f"the session is dead: {last['outcome']} {last['error']}")
        log = await client.records(talk)
        faults += faults_of(talk, scenario, log, self._sent_in(talk), self._llama.asked_in(talk.first_message))
        faults += [f"the model refused a prompt: {refusal}" for refusal in self._llama.refusals]
        self._llama.refusals.clear()
        for record in log:
            if record["type"] == "tool_result" and record["truncated"] and record["name"] == "read_long":
                full = await client.text(f"{talk.session}/records/{record['seq']}/full")
                faults += [] if full == LONG_TEXT else ["the whole text of a cut result is not kept"]
        faults += await asyncio.to_thread(self._verify, talk.session_id)
        return [record for record in log if record["turn"] != last["id"]]

    def _verify(self, session: str) -> Iterator[str]:
        with look_at_store(self.service.database_url) as audit:
            verdict = audit.verify(SessionId(session))
        if verdict is None or verdict.fault is not None:
            return iter([f"the log does not verify: {verdict}"])
        self.heads.append(head_line(SessionId(session), verdict.head))
        return iter(())


def _trap(plan: Plan, life: int, talk: Conversation | None) -> Trap | None:
    point = plan.points[life] if life < len(plan.points) else None
    if point is None or point.write is None:
        return None
    place, record_type = point.write
    session = talk.session_id if talk is not None else None
    return Trap(
        mark=plan.mark, place=place, type=record_type, nth=point.nth, delay_us=plan.commit_us, session=session or None
    )


def _scripted(scenario: Scenario, talk: Conversation, asked: Asked) -> Reply:
    return scenario.script(asked, talk)


@asynccontextmanager
async def chain_in(folder: Path) -> AsyncGenerator[Chain]:
    """Prepare a chain whose store is in this folder; no service runs yet, and at the end none does any more."""
    moments = Moments()
    async with WatchedLlama(moments) as llama, WatchedPort(moments) as port:
        service = ServiceProcess(
            folder,
            program=DYING,
            llama_url=llama.url,
            tool_port_url=port.url,
            poll_ms="50",
            resume_attempts=str(RESUME_ATTEMPTS),
            retry_attempts=str(RETRY_ATTEMPTS),
        )
        async with service.with_nursery():
            yield Chain(service, llama, port, moments)
