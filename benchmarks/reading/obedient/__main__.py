"""`python -m benchmarks.reading.obedient`: the gated loop beside one that always updates, with dictated replies."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx

from benchmarks.dictating_proxy import dictating_proxy
from benchmarks.reading.failures import AttemptFailed, BenchmarkFailed
from benchmarks.reading.model_server import ModelServer, ServerFacts
from benchmarks.reading.obedient.options import ObedientOptions, obedient_options_of
from benchmarks.reading.obedient.programs import own_llama_server, own_service
from benchmarks.reading.obedient.reader import ObedientReader, evidence_of, memories
from benchmarks.reading.obedient.rounds import Compared, NotCompared, Rounds, cut_as_service
from benchmarks.reading.obedient.table import EXPLANATION, outlook, table
from benchmarks.reading.rivals.always_update import AlwaysUpdate
from benchmarks.reading.rivals.gated import Exit, Gated
from benchmarks.reading.room import Room
from benchmarks.reading.run import TOKENS_PER_WORD
from benchmarks.reading.tasks import Kind, Task, make_task
from benchmarks.reading.texts import WordListText

# The end of an answer is a token, too.
_BEYOND_MEMORY = 16


def main() -> None:
    """Measure, print the table, and end with 1 where nothing could be measured."""
    try:
        anyio.run(_measure, obedient_options_of(None))
    except BenchmarkFailed as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    options: ObedientOptions
    http: httpx.AsyncClient
    llama_url: str
    facts: ServerFacts
    task: Task
    logs: Path


async def _measure(options: ObedientOptions) -> None:
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
        ground = _Ground(options=options, http=http, llama_url=llama_url, facts=facts, task=task, logs=logs)
        results = [await _tried(ground, chunk, memory) for chunk in options.chunks for memory in options.memories]
        length = await model.count(task.documents[0].text)
    parts = [_head(ground, length), table(results), EXPLANATION, outlook(results, reworded=options.reworded)]
    sys.stdout.write("\n\n".join(parts) + "\n")
    if not any(isinstance(result, Compared) for result in results):
        raise BenchmarkFailed("no size could be measured")


async def _tried(ground: _Ground, chunk: int, memory: int) -> Compared | NotCompared:
    try:
        return await _compare(ground, chunk, memory)
    except (AttemptFailed, BenchmarkFailed) as error:
        _say(f"chunks of {chunk}, memory of {memory}: {error}")
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
            rounds = Rounds(http, ground.llama_url, rounds=ground.options.rounds, say=_say)
            return await rounds.compare(task, gated, always, chunk=chunk, memory=memory)


def _head(ground: _Ground, length: int) -> str:
    options = ground.options
    wording = "in other words each time" if options.reworded else "word for word the same"
    return (
        f"{ground.facts.model}, context {ground.facts.context_tokens}; {os.cpu_count()} cores; a text of {length} "
        f"tokens, the evidence behind {options.place:.0%} of it; {options.rounds} rounds; a memory that is written "
        f"again is {wording}"
    )


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    main()
