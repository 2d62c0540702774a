"""The rounds: each mode goes over all subjects in turn, again and again, so that a slow moment of the machine hits all.

Above: the list of all benchmarks. Below: the modes, the subjects, and the ground that they run on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import uvloop

from benchmarks.overhead.cores import two_cores
from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.overhead.ground import Ground, prepared
from benchmarks.overhead.modes import Effort, Mode
from benchmarks.overhead.subjects import Subject, known_subjects
from benchmarks.overhead.target import Target
from benchmarks.peers import known_peers
from benchmarks.results import Figure
from benchmarks.startup.rounds import Measured, figures

_LONGEST_S = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured; `say` gets what is worth telling on the way, line by line."""

    rounds: int
    seconds: float
    with_peers: bool
    say: Callable[[str], None]


def measure(modes: Sequence[Mode], plan: Plan) -> list[Figure]:
    """Measure all subjects in these modes, which share the servers.

    Raises:
        MeasurementFailed: the upstream, nginx or Turnkeeper can't be started.
    """
    peers = known_peers() if plan.with_peers and any(mode.for_peers for mode in modes) else []
    subjects = known_subjects(peers, plan.say)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measure(modes, subjects, plan))


async def _measure(modes: Sequence[Mode], subjects: Sequence[Subject], plan: Plan) -> list[Figure]:
    cores = two_cores()
    if cores.server is None:
        plan.say("one core for all: nothing is pinned, and the client's work counts against each server")
    found: list[Figure] = []
    async with prepared(cores) as ground:
        for mode in (mode for mode in modes if mode.fresh):
            found += await _rounds_of_fresh(mode, subjects, ground, plan)
        kept = [mode for mode in modes if not mode.fresh]
        if kept:
            async with AsyncExitStack() as stack:
                targets = await _started(subjects, ground, stack, plan.say)
                for mode in kept:
                    found += await _rounds_of(mode, targets, plan)
    return found


async def _started(
    subjects: Sequence[Subject], ground: Ground, stack: AsyncExitStack, say: Callable[[str], None]
) -> list[Target]:
    targets: list[Target] = []
    for subject in subjects:
        try:
            targets.append(await stack.enter_async_context(ground.running(subject)))
        except MeasurementFailed as failure:
            if not subject.is_peer:
                raise
            say(f"{subject.name} is left out: {failure}")
    return targets


async def _rounds_of(mode: Mode, targets: Sequence[Target], plan: Plan) -> list[Figure]:
    seen = _Seen(mode)
    chosen = [t for t in targets if (mode.for_peers or not t.is_peer) and (mode.has_upstream or not t.is_upstream)]
    for number in range(plan.rounds):
        for target in chosen:
            with target.alone(targets):
                await seen.measure(target, number, plan)
    return seen.figures()


async def _rounds_of_fresh(mode: Mode, subjects: Sequence[Subject], ground: Ground, plan: Plan) -> list[Figure]:
    seen = _Seen(mode)
    for number in range(plan.rounds):
        for subject in subjects:
            if (subject.is_peer and not mode.for_peers) or (subject.is_upstream and not mode.has_upstream):
                continue
            try:
                async with ground.running(subject) as target:
                    await seen.measure(target, number, plan, settles=False)
            except MeasurementFailed as failure:
                plan.say(f"{mode.benchmark}, round {number + 1}: {failure}")
    return seen.figures()


class _Seen:
    """What was measured in one mode so far."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._measured: list[Measured] = []

    async def measure(self, target: Target, number: int, plan: Plan, *, settles: bool = True) -> None:
        """Measure once; a failure is said, and there is no value then."""
        where = f"{self._mode.benchmark}, round {number + 1}, {target.name}"
        try:
            async with asyncio.timeout(_LONGEST_S):
                values = await self._mode.measure(target, Effort(seconds=plan.seconds, say=plan.say))
                if settles:
                    await target.settle()
        except (MeasurementFailed, TimeoutError) as failure:
            plan.say(f"{where}: {failure!r}")
            return
        plan.say(f"{where}: {', '.join(f'{m.name} {value:.4g} {m.unit}' for m, value in values.items())}")
        for measure, value in values.items():
            self._measured.append(
                Measured(
                    subject=target.name,
                    measure=measure.name,
                    unit=measure.unit,
                    value=value,
                    conditions=self._mode.conditions,
                )
            )

    def figures(self) -> list[Figure]:
        """Give the figures of all rounds."""
        return figures(self._mode.benchmark, [self._measured])
