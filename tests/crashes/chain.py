"""One service that is killed and started again and again on one store, story after story.

A start is for the rest of one story and for the beginning of the next.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx

from service.core.json_types import JsonObject
from tests.crashes.client import BOUND_S
from tests.crashes.dying_service import Trap
from tests.crashes.judgement import RESUME_ATTEMPTS, RETRY_ATTEMPTS
from tests.crashes.kill_points import KillPoint, Moments
from tests.crashes.plans import Plan
from tests.crashes.scenarios import story_of
from tests.crashes.service_process import ServiceProcess
from tests.crashes.stories import Stage, Story, Told
from tests.crashes.watched_fakes import COMPACT_AT, EXPERT, WatchedLlama, WatchedPort

DYING = "tests.crashes.dying_service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of a plan.

    `killed` counts the points that the service came to; at the others it was killed when the story was over.
    `sent_again` counts calls that the port got once more. `moments` and `log` are without the last question.
    """

    plan: Plan
    killed: int
    sent_again: int
    faults: tuple[str, ...]
    moments: Counter[str]
    log: tuple[JsonObject, ...] = ()
    counted: Counter[str] = field(default_factory=Counter[str])


class Chain:
    """Plays plans one after the other."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.service = stage.service
        self._numbers = itertools.count(1)
        self._moments = stage.moments

    async def play(self, plans: Sequence[Plan]) -> AsyncGenerator[Played]:
        """Play them all."""
        numbered = [replace(plan, number=number) for plan, number in zip(plans, self._numbers, strict=False)]
        await self._restart(numbered[0])
        for plan, following in itertools.zip_longest(numbered, numbered[1:]):
            yield await self._play(plan, following)

    async def _play(self, plan: Plan, following: Plan | None) -> Played:
        story = story_of(plan, self.stage)
        moments, killed = Counter[str](), 0
        told = Told(faults=(), log=())
        try:
            self._moments.begin(self.service.kill, plan.point_in(0), story.held)
            for life in range(len(plan.points) + 1):
                point = plan.point_in(life)
                await self._live(story, life, point)
                moments = moments or self._moments.seen.copy()
                killed += self.service.died.is_set()
                if point is not None:
                    await self.service.kill()
                    await story.died()
                    # Before the start: what the service goes on with by itself passes its moments while it starts.
                    self._moments.begin(self.service.kill, plan.point_in(life + 1), None)
                    last = life + 1 == len(plan.points)
                    await (self._restart(following) if last else self._restart(plan, life + 1, story))
            async with self.client() as http:
                told = await story.look(http)
        except (AssertionError, httpx.HTTPError, TimeoutError) as error:
            told = Told(faults=[f"{type(error).__name__}: {error}"], log=())
            await self._restart(following)
        refused = self.stage.llama.refusals
        faults = [*told.faults, *(f"the model refused a prompt: {refusal}" for refusal in refused)]
        refused.clear()
        return Played(
            plan=plan,
            killed=killed,
            sent_again=told.sent_again,
            faults=tuple(faults),
            moments=moments,
            log=tuple(told.log),
            counted=told.counted,
        )

    async def _restart(self, plan: Plan | None, life: int = 0, story: Story | None = None) -> None:
        """Start the service for this life of a plan."""
        await self.service.kill()
        trap = None if plan is None else _trap(plan, life, () if story is None else await story.logs())
        module = "" if plan is None or not plan.fresh else "service" if trap is None else DYING
        extra = trap.as_variable() if trap is not None else None
        goes_on = plan is not None and life > 0 and plan.point_in(life) is not None
        await self.service.start(extra, module=module, may_die=trap is not None or goes_on)

    async def _live(self, story: Story, life: int, point: KillPoint | None) -> None:
        """Play the story to its end or to the service's."""
        async with self.client() as http:
            telling = asyncio.create_task(story.begin(http) if life == 0 else story.go_on(http), name="client")
            dying = asyncio.create_task(self.service.died.wait(), name="death")
            timer = asyncio.create_task(self._kill_in_time(point), name="timer")
            try:
                await asyncio.wait({telling, dying}, return_when=asyncio.FIRST_COMPLETED, timeout=BOUND_S)
                if self.service.died.is_set():
                    # Its connections break.
                    await asyncio.wait({telling}, timeout=BOUND_S)
                assert telling.done(), "the story is stuck"
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
    async def client(self) -> AsyncGenerator[httpx.AsyncClient]:
        """Give a client of this life of the service."""
        # One for each life: the connections of the one before are dead.
        async with httpx.AsyncClient(
            base_url=self.service.address, timeout=BOUND_S, trust_env=False, verify=False
        ) as http:
            yield http


def _trap(plan: Plan, life: int, logs: Sequence[str]) -> Trap | None:
    point = plan.point_in(life)
    if point is None or point.write is None:
        return None
    place, record_type = point.write
    return Trap(
        mark=plan.mark,
        place=place,
        type=record_type,
        nth=point.nth,
        delay_us=plan.commit_us,
        sessions=tuple(logs),
    )


@asynccontextmanager
async def chain_in(folder: Path, *, slots: int = 8, **settings: str) -> AsyncGenerator[Chain]:
    """Prepare a chain whose store is in this folder; no service runs yet, and at the end none does any more."""
    moments, agents = Moments(), folder / "agents.toml"
    agents.write_text(f'[agents.expert]\ndescription = "Knows all"\nsystem = "{EXPERT}"\n', encoding="utf-8")
    async with WatchedLlama(moments, slots) as llama, WatchedPort(moments) as port:
        service = ServiceProcess(
            folder,
            program=DYING,
            llama_url=llama.url,
            tool_port_url=port.url,
            agents_file=str(agents),
            poll_ms="50",
            compact_at=COMPACT_AT,
            resume_attempts=str(RESUME_ATTEMPTS),
            retry_attempts=str(RETRY_ATTEMPTS),
            **settings,
        )
        async with service.with_nursery():
            yield Chain(Stage(service=service, llama=llama, port=port, moments=moments))
