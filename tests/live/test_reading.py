"""A text of many contexts on a real llama-server: every reply parses, the head stays cached, the log verifies."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest

from benchmarks.dictating_proxy import dictating_proxy, in_turn
from benchmarks.reading.model_server import ModelServer
from benchmarks.reading.obedient.counters import counted
from benchmarks.reading.obedient.reader import ObedientReader, evidence_of, memories
from benchmarks.reading.obedient.rounds import cut_as_service
from benchmarks.reading.rivals.always_update import AlwaysUpdate
from benchmarks.reading.rivals.gated import Exit, Gated
from benchmarks.reading.room import Room
from benchmarks.reading.spent import Meter
from benchmarks.reading.tasks import Kind, make_task
from benchmarks.reading.texts import WordListText
from service.core.json_types import JsonObject
from tests.lengths import SHORT
from tests.live.client import frames_of
from tests.live.processes import TEMPLATES, llama_server, service

pytestmark = [pytest.mark.anyio, pytest.mark.live]

CONTEXT = 4096
# Tokens of the closing fence and of the template behind it.
BEHIND = 20
NEEDLE = "The secret password of the old lighthouse is marmalade seven."
NOTHING = '{"update": false, "exit": false}'
NOTED = f'{{"update": true, "memory": "{NEEDLE}", "exit": false}}'
ANSWER = "marmalade seven"
QUERY = "What is the secret password of the old lighthouse?"
SUBJECTS = ("the captain", "a small boat", "the old harbour", "my neighbour", "the north wind", "a letter")
VERBS = ("waited for", "carried", "remembered", "painted", "left behind", "talked about", "paid for")
OBJECTS = ("the winter stores", "seven barrels of salt", "a grey horse", "nothing at all", "the long road")


def prose(tokens: int) -> str:
    """Write plain sentences in paragraphs, of about so many tokens, with the needle at a fifth."""
    draw = random.Random(7)
    paragraphs: list[str] = []
    while sum(len(paragraph) for paragraph in paragraphs) < 4 * tokens:
        sentences = [
            f"{draw.choice(SUBJECTS)} {draw.choice(VERBS)} {draw.choice(OBJECTS)}".capitalize() for _ in range(6)
        ]
        paragraphs.append(". ".join(sentences) + ".")
    paragraphs.insert(len(paragraphs) // 5, NEEDLE)
    return "\n\n".join(paragraphs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A reading that has ended; for each chunk what it cost, and how many tokens of its prompt stand before it."""

    records: list[JsonObject]
    verified: str

    costs: list[JsonObject]
    before: list[int]

    def of_type(self, kind: str) -> list[JsonObject]:
        return [record for record in self.records if record["type"] == kind]

    def check(self) -> None:
        """What holds for each reading with a real model, whatever the model says."""
        planned, end, chunks = self.records[1], self.records[-1], len(self.costs)
        assert planned["context_tokens"] == CONTEXT
        assert len(planned["ends"][0]) == end["chunks_seen"] == chunks
        assert self.of_type("parse_failed") == []
        # One call for each chunk, and one for the answer where a memory came of them.
        assert end["calls"] == chunks + (end["outcome"] == "answered")
        assert end["reading"] in self.verified
        for gate in self.of_type("gate"):
            assert gate["update"] or self.costs[gate["chunk"] - 1]["completion_tokens"] <= 24
        changed = {memory["chunk"] for memory in self.of_type("memory")}
        for number in range(1, chunks):
            # Behind a chunk that changed nothing: all before the next one's own text comes from the cache.
            cost = self.costs[number]
            assert number in changed or cost["cached_tokens"] >= 0.9 * self.before[number], (number + 1, cost)


async def read(
    text: str,
    folder: Path,
    tool_port_url: str,
    http: httpx.AsyncClient,
    *,
    chunk_tokens: int,
    memory_budget: int,
    replies: Sequence[str] | None = None,
) -> Read:
    """Read a text with a service and a server of its own; `replies` dictates what it writes, call by call."""
    database = f"sqlite:///{(folder / f'reading-{chunk_tokens}.db').as_posix()}"
    asked = {
        "query": QUERY,
        "documents": [{"name": "tales.txt", "text": text}],
        "memory_budget": memory_budget,
        "chunk_tokens": chunk_tokens,
    }
    with (
        llama_server(TEMPLATES / "chatml-tools-kept.jinja", folder, context=CONTEXT, parallel=1) as llama,
        nullcontext(llama) if replies is None else dictating_proxy(llama, in_turn(replies)) as model,
        service(model, tool_port_url, folder, database_url=database) as address,
    ):
        async with http.stream("POST", f"{address}/readings", json=asked) as answer:
            assert answer.status_code == 200, await answer.aread()
            records = [frame.data async for frame in frames_of(answer) if frame.id is not None]
        costs = [record["usage"] for record in records if record["type"] == "usage" and record["chunk"] is not None]
        ends = records[1]["ends"][0]
        before: list[int] = []
        for start, end, cost in zip([0, *ends], ends, costs, strict=False):
            chunk = text.encode()[start:end].decode()
            counted = await http.post(f"{llama}/tokenize", json={"content": chunk, "add_special": False})
            before.append(cost["prompt_tokens"] - len(counted.json()["tokens"]) - BEHIND)
    command = [sys.executable, "-m", "service", "verify", "--database-url", database]
    checked = await anyio.run_process(command, check=False)
    assert checked.returncode == 0, checked.stderr.decode()
    return Read(records=records, verified=checked.stdout.decode(), costs=costs, before=before)


@pytest.mark.timeout(300)
@pytest.mark.rules("R2", "R4", "R7", "R8", "R10")
async def test_a_chunk_of_no_use_costs_a_dozen_tokens_and_leaves_the_head_in_the_cache(
    folder: Path, tool_port_url: str, http: httpx.AsyncClient
) -> None:
    replies = [NOTHING, NOTED, NOTHING, NOTHING, ANSWER]

    done = await read(prose(1_300), folder, tool_port_url, http, chunk_tokens=350, memory_budget=64, replies=replies)

    done.check()
    assert [gate["update"] for gate in done.of_type("gate")] == [False, True, False, False]
    assert [(memory["chunk"], memory["text"]) for memory in done.of_type("memory")] == [(2, NEEDLE)]
    assert (done.records[-1]["outcome"], done.of_type("answer")[0]["content"]) == ("answered", ANSWER)


@pytest.mark.skipif(SHORT, reason="a minute and more: make live reads it")
@pytest.mark.timeout(600)
@pytest.mark.rules("R4", "R7", "R10")
async def test_a_reader_that_does_as_it_is_told_writes_less_than_half_of_one_that_always_updates(
    folder: Path, tool_port_url: str, http: httpx.AsyncClient
) -> None:
    task = make_task(Kind.NEEDLE, seed=1, words=440, source=WordListText(), depth=0.2)
    evidence, chunk, memory = evidence_of(task), 128, 96
    with llama_server(TEMPLATES / "chatml-tools-kept.jinja", folder, context=CONTEXT, parallel=1) as llama:
        told = await memories(evidence, memory, ModelServer(http, llama).count, reworded=True)
        reader = ObedientReader(evidence=evidence, answer=task.answers[0], memories=told)
        with (
            dictating_proxy(llama, reader) as model,
            service(model, tool_port_url, folder, database_url="memory:") as address,
        ):
            room = Room(context=CONTEXT, chunk=chunk, memory=memory + 16)
            gated = Gated(http, address, exit=Exit.NEVER, chunk_tokens=chunk, memory_budget=memory)
            sums, meters = [await counted(http, llama)], [Meter(), Meter()]
            always = AlwaysUpdate(ModelServer(http, model), room, cut_as_service)
            for rival, meter in zip((gated, always), meters, strict=True):
                answer = await rival.answer(task, meter)
                assert answer.text == task.answers[0]
                sums.append(await counted(http, llama))

    with_gate, without = sums[1] - sums[0], sums[2] - sums[1]
    assert meters[0].spent.calls == meters[1].spent.calls > 5
    # What both say of themselves is what the server counted.
    assert [(each.spent.evaluated_tokens, each.spent.output_tokens) for each in meters] == [
        (with_gate.evaluated, with_gate.written),
        (without.evaluated, without.written),
    ]
    assert 2 * with_gate.written < without.written
    assert with_gate.evaluated < without.evaluated


@pytest.mark.skipif(SHORT, reason="a quarter of an hour: make live reads it")
@pytest.mark.timeout(3600)
@pytest.mark.rules("R1", "R2", "R4", "R5", "R7", "R8", "R10")
async def test_a_text_of_twelve_contexts_is_read_without_a_reply_that_does_not_parse(
    folder: Path, tool_port_url: str, http: httpx.AsyncClient
) -> None:
    done = await read(prose(50_000), folder, tool_port_url, http, chunk_tokens=2_500, memory_budget=128)

    done.check()
    assert len(done.costs) >= 16
