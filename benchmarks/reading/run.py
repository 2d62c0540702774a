"""The run: all rivals at each task, the figures written after each, so that a run cut short has some."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx

from benchmarks.reading.attempts import Attempt, attempt, not_run
from benchmarks.reading.failures import AttemptFailed, BenchmarkFailed
from benchmarks.reading.http_answers import words_of
from benchmarks.reading.model_server import ModelServer, ServerFacts
from benchmarks.reading.options import Options
from benchmarks.reading.ranking import Ranking
from benchmarks.reading.report import write
from benchmarks.reading.rivals.always_update import AlwaysUpdate
from benchmarks.reading.rivals.full_text import FullText
from benchmarks.reading.rivals.gated import Exit, Gated
from benchmarks.reading.rivals.map_reduce import MapReduce
from benchmarks.reading.rivals.retrieval import Retrieval
from benchmarks.reading.rivals.rival import Rival, whole_text
from benchmarks.reading.room import Room
from benchmarks.reading.tasks import Task, make_tasks
from benchmarks.reading.texts import TextSource

# Of SmolLM2's tokeniser over the King James Bible; other tokenisers come near, and the real length is reported.
TOKENS_PER_WORD = 1.3

_CONNECT_S = 10
_WHY_NOT_RUN = "no --turnkeeper-url was given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the rivals are given beside the options: text, a ranking, and where progress is told."""

    source: TextSource
    ranking: Ranking
    say: Callable[[str], None]


async def run(options: Options, ground: Ground) -> list[Attempt]:
    """Measure and write the figures; returns all attempts.

    Raises:
        BenchmarkFailed: a server doesn't answer at the start, or the sizes don't fit its context.
    """
    # Each attempt has a bound of its own, and a call within it none.
    timeout = httpx.Timeout(None, connect=_CONNECT_S)
    async with httpx.AsyncClient(timeout=timeout, trust_env=False) as http:
        model = ModelServer(http, options.llama_url)
        facts = await model.facts()
        rivals = await _rivals(options, ground, http, model, facts)
        words = round(options.tokens / TOKENS_PER_WORD)
        tasks = make_tasks(options.tasks, seed=options.seed, words=words, source=ground.source, kinds=options.kinds)
        attempts: list[Attempt] = []
        lengths: list[int] = []
        for number, task in enumerate(tasks, 1):
            lengths.append(await _length(model, task))
            for name, rival in rivals.items():
                attempts.append(await _try(name, rival, task, options))
                ground.say(f"task {number} of {len(tasks)}, {_line(attempts[-1])}")
            write(options.out, _settings(options, ground.source, facts, lengths), tasks[:number], attempts)
    return attempts


async def _rivals(
    options: Options, ground: Ground, http: httpx.AsyncClient, model: ModelServer, facts: ServerFacts
) -> Mapping[str, Rival | None]:
    """Return all rivals by name; none stands for one that can't be tried.

    The two gated readings ask the same things, so others stand between them: else the second would find the
    prompts of the first in the slots (and does where llama-server keeps more prompts than slots: `--cache-ram 0`).
    """
    room = Room(context=facts.context_tokens, chunk=options.chunk_tokens, memory=options.memory_budget)
    own: list[Rival] = [
        AlwaysUpdate(model, room),
        MapReduce(model, room),
        FullText(model, room),
        Retrieval(model, room, ground.ranking),
    ]
    url = options.turnkeeper_url
    if url is not None:
        await _check_turnkeeper(http, url)
    sizes = {"chunk_tokens": options.chunk_tokens, "memory_budget": options.memory_budget}
    never, asked = (Gated(http, url or "", exit=exit, **sizes) for exit in (Exit.NEVER, Exit.ASKED))
    in_order = [never, *own, asked]
    return {rival.name: rival if url is not None or rival in own else None for rival in in_order}


async def _check_turnkeeper(http: httpx.AsyncClient, url: str) -> None:
    try:
        answer = await http.get(f"{url.rstrip('/')}/livez", timeout=_CONNECT_S)
    except httpx.HTTPError as error:
        raise BenchmarkFailed(f"no Turnkeeper answers at {url}: {words_of(error)}") from error
    if not answer.is_success:
        raise BenchmarkFailed(f"what answers at {url} is no Turnkeeper: /livez gives {answer.status_code}")


async def _length(model: ModelServer, task: Task) -> int:
    try:
        return await model.count(whole_text(task))
    except AttemptFailed as error:
        raise BenchmarkFailed(f"llama-server does not count tokens: {error}") from error


async def _try(name: str, rival: Rival | None, task: Task, options: Options) -> Attempt:
    if rival is None:
        return not_run(name, task, _WHY_NOT_RUN)
    return await attempt(rival, task, bound_s=options.attempt_seconds, clock=time.perf_counter)


def _line(each: Attempt) -> str:
    right = "right" if each.right else "wrong"
    said = f"{right}: {each.answer!r}" if not each.note else each.note
    return f"{each.kind}, {each.rival}: {each.outcome} in {each.seconds:.1f} s; {said}"


def _settings(options: Options, source: TextSource, facts: ServerFacts, lengths: list[int]) -> Mapping[str, object]:
    return {
        "model": facts.model,
        "context_tokens": facts.context_tokens,
        "text": source.name,
        "tasks": options.tasks,
        "tokens": f"{options.tokens} asked for, {min(lengths)} to {max(lengths)} by the server's own count",
        "seed": options.seed,
        "chunk_tokens": options.chunk_tokens,
        "memory_budget": options.memory_budget,
    }
