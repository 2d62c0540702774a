"""Both loops at each size of chunk and memory that is asked for, with the programs that they need.

Above: the command line and the registry's benchmark. Below: the rounds, a llama-server, the service.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.dictating_proxy import dictating_proxy
from benchmarks.reading.failures import AttemptFailed, BenchmarkFailed
from benchmarks.reading.model_server import ModelServer, ServerFacts
from benchmarks.reading.obedient.options import ObedientOptions
from benchmarks.reading.obedient.programs import own_llama_server, own_service
from benchmarks.reading.obedient.reader import ObedientReader, evidence_of, memories
from benchmarks.reading.obedient.rounds import Compared, NotCompared, Rounds, cut_as_service
from benchmarks.reading.rivals.always_update import AlwaysUpdate
from benchmarks.reading.rivals.gated import Exit, Gated
from benchmarks.reading.room import Room
from benchmarks.reading.run import TOKENS_PER_WORD
from benchmarks.reading.tasks import Kind, Task, make_task
from benchmarks.reading.texts import WordListText

# The end of an answer is a token, too.
_BEYOND_MEMORY = 16

Say = Callable[[str], None]
"""Is told what happens on the way, line by line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What came of each size, on which server, over a text of so many tokens."""

    facts: ServerFacts
    text_tokens: int
    sizes: tuple[Compared | NotCompared, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    options: ObedientOptions
    http: httpx.AsyncClient
    llama_url: str
    facts: ServerFacts
    task: Task
    logs: Path
    say: Say


async def compare_sizes(options: ObedientOptions, say: Say) -> Comparison:
    """Measure each chunk with each memory; a size that can't be measured ends no other.

    Raises:
        BenchmarkFailed: there is no llama-server.
        AttemptFailed: the server doesn't count the text.
    """
    words = round(options.tokens / TOKENS_PER_WORD)
    task = make_task(Kind.NEEDLE, seed=options.seed, words=words, source=WordListText(), depth=options.place)
    async with AsyncExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=None, trust_env=False))
        llama_url = options.llama_url or await stack.enter_async_context(
            own_llama_server(logs, context=options.context, threads=options.threads)
        )
        model = ModelServer(http, llama_url)
        facts = await model.facts()
        ground = _Ground(options=options, http=http, llama_url=llama_url, facts=facts, task=task, logs=logs, say=say)
        sizes = [await _tried(ground, chunk, memory) for chunk in options.chunks for memory in options.memories]
        return Comparison(facts=facts, text_tokens=await model.count(task.documents[0].text), sizes=tuple(sizes))


async def _tried(ground: _Ground, chunk: int, memory: int) -> Compared | NotCompared:
    try:
        return await _compare(ground, chunk, memory)
    except (AttemptFailed, BenchmarkFailed) as error:
        ground.say(f"chunks of {chunk}, memory of {memory}: {error}")
        return NotCompared(chunk=chunk, memory=memory, why=str(error))


async def _compare(ground: _Ground, chunk: int, memory: int) -> Compared:
    room = Room(context=ground.facts.context_tokens, chunk=chunk, memory=memory + _BEYOND_MEMORY)
    http, task, evidence = ground.http, ground.task, evidence_of(ground.task)
    count = ModelServer(http, ground.llama_url).count
    told = await memories(evidence, memory, count, reworded=ground.options.reworded)
    reader = ObedientReader(evidence=evidence, answer=task.answers[0], memories=told)
    with dictating_proxy(ground.llama_url, reader) as proxy:
        async with own_service(ground.logs, llama_url=proxy) as service_url:
            gated = Gated(http, service_url, exit=Exit.NEVER, chunk_tokens=chunk, memory_budget=memory)
            always = AlwaysUpdate(ModelServer(http, proxy), room, cut_as_service)
            rounds = Rounds(http, ground.llama_url, rounds=ground.options.rounds, say=ground.say)
            return await rounds.compare(task, gated, always, chunk=chunk, memory=memory)
