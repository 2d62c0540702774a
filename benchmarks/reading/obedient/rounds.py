"""Both loops over the same chunks, in turn, and what the server counted meanwhile."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import median

import httpx

from benchmarks.reading.attempts import Attempt, attempt
from benchmarks.reading.failures import BenchmarkFailed
from benchmarks.reading.http_answers import json_object, words_of
from benchmarks.reading.obedient.counters import Counted, counted
from benchmarks.reading.rivals.rival import Rival
from benchmarks.reading.tasks import Task
from service.core.reading.chunking import Cutting

_BOUND_S = 3600
_FREE_TOKENS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One loop over all rounds."""

    attempts: tuple[Attempt, ...]
    counts: tuple[Counted, ...]

    @property
    def seconds(self) -> float:
        """The median of the times until the answer."""
        return median(each.seconds for each in self.attempts)

    @property
    def server_s(self) -> float:
        """The median of the times that the server worked."""
        return median(each.server_s for each in self.counts)

    @property
    def total(self) -> Counted:
        """The sums of all rounds."""
        return reduce(Counted.__add__, self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Both loops at one size of chunk and memory; `free` is what the server wrote without dictation."""

    chunk: int
    memory: int
    gated: Measured
    always: Measured
    free: Counted


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCompared:
    """A size that could not be tried, and why."""

    chunk: int
    memory: int
    why: str


class Rounds:
    """Lets two loops read one text a number of times."""

    def __init__(self, http: httpx.AsyncClient, llama_url: str, *, rounds: int, say: Callable[[str], None]) -> None:
        self._http = http
        self._llama_url = llama_url
        self._rounds = rounds
        self._say = say

    async def compare(self, task: Task, gated: Rival, always: Rival, *, chunk: int, memory: int) -> Compared:
        """Measure.

        Raises:
            BenchmarkFailed: a loop did not do what was dictated, or they did not read the same chunks, or the server
                is gone.
            AttemptFailed: the server refuses to write without dictation.
        """
        taken: dict[str, list[tuple[Attempt, Counted]]] = {gated.name: [], always.name: []}
        free: list[Counted] = []
        for number in range(self._rounds):
            # Who begins changes, so that a machine that gets slower or faster is no advantage to one.
            for rival in (gated, always) if number % 2 == 0 else (always, gated):
                taken[rival.name].append(await self._read(task, rival))
                self._say(f"chunks of {chunk}, memory of {memory}, {_line(*taken[rival.name][-1])}")
            free.append(await self._write_freely(task, chunk))
        result = Compared(
            chunk=chunk,
            memory=memory,
            gated=_measured(taken[gated.name]),
            always=_measured(taken[always.name]),
            free=reduce(Counted.__add__, free),
        )
        calls = {each.spent.calls for side in (result.gated, result.always) for each in side.attempts}
        if len(calls) != 1:
            raise BenchmarkFailed(f"the two loops did not read the same chunks: {sorted(calls)} calls")
        return result

    async def _read(self, task: Task, rival: Rival) -> tuple[Attempt, Counted]:
        before = await counted(self._http, self._llama_url)
        done = await attempt(rival, task, bound_s=_BOUND_S, clock=time.perf_counter)
        after = await counted(self._http, self._llama_url)
        if not done.right:
            said = done.note or f"it answered {done.answer!r}"
            raise BenchmarkFailed(f"{rival.name} did not do what was dictated: {done.outcome}, {said}")
        return done, after - before

    async def _write_freely(self, task: Task, chunk: int) -> Counted:
        """Let the server write behind as much text, with no grammar: a dictated token takes it longer."""
        before = await counted(self._http, self._llama_url)
        body = {
            # About four characters are a token, and a little less or more does not matter.
            "prompt": task.documents[0].text[: 3 * chunk],
            "n_predict": _FREE_TOKENS,
            "ignore_eos": True,
            "temperature": 0,
        }
        try:
            answer = await self._http.post(f"{self._llama_url}/completion", json=body)
        except httpx.HTTPError as error:
            raise BenchmarkFailed(f"/completion: {words_of(error)}") from error
        json_object(answer, "/completion")
        return await counted(self._http, self._llama_url) - before


async def cut_as_service(text: str, budget: int, count: Callable[[str], Awaitable[int]]) -> Sequence[str]:
    """Cut a plain text where the service does."""
    cutting = Cutting(text, budget=budget, media_type="text/plain")
    while (piece := cutting.question) is not None:
        cutting.answer(await count(piece))
    encoded, ends = text.encode(), cutting.ends
    return [encoded[start:end].decode() for start, end in zip((0, *ends), ends, strict=False)]


def _measured(taken: Sequence[tuple[Attempt, Counted]]) -> Measured:
    return Measured(attempts=tuple(each for each, _ in taken), counts=tuple(counts for _, counts in taken))


def _line(done: Attempt, counts: Counted) -> str:
    return f"{done.rival}: {done.seconds:.1f} s, {counts.evaluated} tokens evaluated, {counts.written} written"
