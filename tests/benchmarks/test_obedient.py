"""The measurement with dictated replies: who is told what, what is counted, and what the table says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import count as numbers
from pathlib import Path

import httpx
import pytest

from benchmarks.reading import prompts
from benchmarks.reading.attempts import Attempt, Outcome
from benchmarks.reading.failures import BenchmarkFailed
from benchmarks.reading.obedient.counters import Counted, counted
from benchmarks.reading.obedient.options import obedient_options_of
from benchmarks.reading.obedient.reader import NO_UPDATE, Memories, ObedientReader, evidence_of, memories
from benchmarks.reading.obedient.rounds import Compared, Measured, NotCompared, Rounds, cut_as_service
from benchmarks.reading.obedient.table import HEADER, least_memory, outlook, table, times_at
from benchmarks.reading.rivals.rival import RivalAnswer
from benchmarks.reading.spent import Meter, Spent
from benchmarks.reading.tasks import Kind, Task, make_task
from benchmarks.reading.texts import WordListText
from service.core.json_types import JsonObject
from service.core.reading.prompts import ReadingPrompts
from tests.benchmarks.scripted_server import Reply, Request, serving

pytestmark = [pytest.mark.anyio]

ROOT = Path(__file__).parent.parent.parent
EVIDENCE = "The watchword of Belmar is tarnis."
QUERY = "What is the watchword of Belmar?"
MEMORIES = Memories(without=("a b", "b a"), noted=(f"{EVIDENCE} a", f"{EVIDENCE} b"))
GATED = ReadingPrompts(query=QUERY, fence="f", memory_budget=64, answer_tokens=384, model=None, system_role=True)


def reader(memories: Memories = MEMORIES) -> ObedientReader:
    return ObedientReader(evidence=EVIDENCE, answer="tarnis", memories=memories)


def gated(memory: str | None, chunk: str) -> JsonObject:
    asked = GATED.for_chunk(memory, chunk)
    return {"messages": list(asked.messages), "grammar": asked.grammar}


def plain(prompt: str) -> JsonObject:
    return {"messages": [{"role": "user", "content": prompt}]}


async def words(text: str) -> int:
    return len(text.split())


def task() -> Task:
    return make_task(Kind.NEEDLE, seed=3, words=600, source=WordListText(), depth=0.5)


@pytest.mark.rules("R4")
def test_a_gated_reading_is_told_yes_at_the_evidence_alone() -> None:
    tell = reader()

    assert tell(gated(None, "Some rain.")) == NO_UPDATE == '{"update": false, "exit": false}'
    assert json.loads(tell(gated(None, f"Rain. {EVIDENCE}"))) == {
        "update": True,
        "memory": f"{EVIDENCE} a",
        "exit": False,
    }
    # What stands in the memory already is nothing new.
    assert tell(gated(f"{EVIDENCE} a", "More rain.")) == NO_UPDATE


def test_a_loop_that_always_updates_is_told_a_memory_for_each_chunk_which_keeps_the_evidence() -> None:
    tell = reader()
    first, second = (tell(plain(prompts.update_memory(QUERY, "", "Some rain."))) for _ in range(2))
    third = tell(plain(prompts.update_memory(QUERY, second, f"Rain. {EVIDENCE}")))
    fourth = tell(plain(prompts.update_memory(QUERY, third, "More rain.")))

    assert (first, second) == MEMORIES.without
    assert (third, fourth) == MEMORIES.noted


def test_both_loops_are_told_the_answer_when_they_show_no_part_of_the_text() -> None:
    tell = reader()

    assert tell({"messages": list(GATED.for_answer(EVIDENCE).messages)}) == "tarnis"
    assert tell(plain(prompts.answer_from_memory(QUERY, EVIDENCE))) == "tarnis"


async def test_memories_are_of_one_size_and_only_those_behind_the_evidence_hold_it() -> None:
    kept = await memories(EVIDENCE, 40, words, reworded=False)
    reworded = await memories(EVIDENCE, 40, words, reworded=True)

    assert (len(kept.without), len(kept.noted)) == (1, 1)
    assert len(set(reworded.without)) == len(set(reworded.noted)) == 4
    assert {await words(text) for text in (*reworded.without, *reworded.noted)} == {40}
    assert all(text.startswith(f"{EVIDENCE} ") for text in reworded.noted)
    assert not any(EVIDENCE in text for text in reworded.without)


def test_the_evidence_is_the_sentence_at_the_bytes_of_the_task() -> None:
    assert task().answers[0] in evidence_of(task())
    assert evidence_of(task()).endswith(".")


@pytest.mark.rules("R1")
async def test_the_chunks_of_both_loops_are_those_of_the_service() -> None:
    text = task().documents[0].text
    chunks = await cut_as_service(text, 128, words)

    assert "".join(chunks) == text
    assert all([await words(chunk) <= 128 for chunk in chunks])
    assert any(chunk.endswith("\n\n") for chunk in chunks)


METRICS = """\
# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.
llamacpp:prompt_tokens_total {evaluated}
llamacpp:prompt_seconds_total 2.5
llamacpp:tokens_predicted_total 1.5e+03
llamacpp:tokens_predicted_seconds_total 30
"""


async def test_what_the_server_counted_is_read_from_its_metrics(http: httpx.AsyncClient) -> None:
    with serving(lambda _: Reply(body=METRICS.format(evaluated=700).encode())) as url:
        sums = await counted(http, url)

    assert sums == Counted(evaluated=700, evaluating_s=2.5, written=1500, writing_s=30)
    assert sums.server_s == 32.5
    assert (sums + sums) - sums == sums


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(status=501, body={}), "start it with --metrics"),
        (Reply(body=b"hello"), "unknown form"),
        (Reply(body=METRICS.format(evaluated="many").encode()), "unknown form"),
    ],
)
async def test_a_server_that_tells_no_sums_is_said(http: httpx.AsyncClient, reply: Reply, message: str) -> None:
    with serving(lambda _: reply) as url, pytest.raises(BenchmarkFailed, match=message):
        await counted(http, url)


class FakeRival:
    """Answers with a number of calls, and notes its turn."""

    def __init__(self, name: str, turns: list[str], *, calls: int = 4, answer: str | None = None) -> None:
        self.name = name
        self._turns = turns
        self._calls = calls
        self._answer = answer

    async def answer(self, task: Task, meter: Meter) -> RivalAnswer:
        """Answer right, unless told otherwise."""
        self._turns.append(self.name)
        meter.add(Spent(calls=self._calls))
        return RivalAnswer(text=self._answer or task.answers[0])


class CountingServer:
    """A server that has evaluated a hundred tokens more at each look."""

    def __init__(self) -> None:
        self._looks = numbers()
        self.bodies: list[JsonObject] = []

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        if request.path == "/metrics":
            return Reply(body=METRICS.format(evaluated=100 * next(self._looks)).encode())
        self.bodies.append(request.body)
        return Reply(body={"content": "…"})


async def test_the_loops_take_turns_and_each_is_given_what_the_server_counted_meanwhile(
    http: httpx.AsyncClient,
) -> None:
    turns: list[str] = []
    server, told = CountingServer(), list[str]()
    with serving(server) as url:
        rounds = Rounds(http, url, rounds=3, say=told.append)
        result = await rounds.compare(task(), FakeRival("g", turns), FakeRival("a", turns), chunk=300, memory=64)

    assert turns == ["g", "a", "a", "g", "g", "a"]
    assert result.gated.total.evaluated == result.always.total.evaluated == result.free.evaluated == 300
    assert len(told) == 6
    # Written without a grammar, to know what dictation costs.
    assert [("grammar" in body, body["ignore_eos"]) for body in server.bodies] == [(False, True)] * 3


@pytest.mark.parametrize(
    ("calls", "answer", "message"),
    [(5, None, r"not read the same chunks: \[4, 5\]"), (4, "no idea", "did not do what was dictated: .*no idea")],
)
async def test_loops_that_do_not_do_the_same_are_not_compared(
    http: httpx.AsyncClient, calls: int, answer: str | None, message: str
) -> None:
    with serving(CountingServer()) as url, pytest.raises(BenchmarkFailed, match=message):
        await Rounds(http, url, rounds=1, say=lambda _: None).compare(
            task(), FakeRival("g", []), FakeRival("a", [], calls=calls, answer=answer), chunk=300, memory=64
        )


def measured(seconds: list[float], counts: Counted) -> Measured:
    done = Attempt(rival="r", task="t", kind=Kind.NEEDLE, outcome=Outcome.ANSWERED, spent=Spent(calls=9))
    return Measured(
        attempts=tuple(replace(done, seconds=each) for each in seconds), counts=tuple(counts for _ in seconds)
    )


# Evaluates 100 tokens in a second, and writes 10 with a grammar and 20 without.
SHORT = Counted(evaluated=1000, evaluating_s=10, written=100, writing_s=10)
LONG = Counted(evaluated=1000, evaluating_s=10, written=400, writing_s=40)
COMPARED = Compared(
    chunk=300,
    memory=64,
    gated=measured([30, 20, 99], SHORT),
    always=measured([60, 10, 61], LONG),
    free=Counted(evaluated=0, evaluating_s=0, written=200, writing_s=10),
)


def test_the_times_are_those_of_the_medians_of_the_server_and_of_the_tokens() -> None:
    _, _, gated_row, always_row = table([COMPARED]).splitlines()

    assert gated_row.count("|") == always_row.count("|") == len(HEADER) + 1
    assert [cell.strip() for cell in always_row.split("|")[-6:-3]] == ["2.00", "2.50", "1.69"]
    # 100 + 400 to 100 + 100, in the time of a written token.
    assert times_at(COMPARED, 10) == 2.5
    assert times_at(COMPARED, 1e9) == pytest.approx(4)


def test_a_size_that_was_not_tried_has_a_row_that_says_why() -> None:
    assert "not run: it is too large" in table([COMPARED, NotCompared(chunk=9, memory=9, why="it is too large")])


@pytest.mark.parametrize("reworded", [False, True])
@pytest.mark.parametrize("ratio", [2.5, 50.0])
def test_from_the_least_memory_on_a_chunk_of_no_use_takes_so_many_times_as_long(ratio: float, reworded: bool) -> None:
    chunk, writing = 1000, 10.0
    evaluating = writing * ratio
    memory = least_memory(chunk, times=1.5, tokens_evaluated_per_written=ratio, reworded=reworded)

    with_gate = chunk / evaluating + 12 / writing
    without = chunk / evaluating + memory / writing + (memory / evaluating if reworded else 0)
    assert without / with_gate == pytest.approx(1.5)


def test_the_outlook_names_the_memory_for_this_machine_and_for_faster_ones() -> None:
    said = outlook([COMPARED, NotCompared(chunk=9, memory=9, why="no")], reworded=False).splitlines()

    assert len(said) == 2
    assert "chunk 300, memory 64: 48 tokens here, where 5.0 tokens are evaluated" in said[1]
    assert "33 where 10 are, 23 where 30 are" in said[1]


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(BenchmarkFailed, match="is not an address of this machine"):
        obedient_options_of(["--llama-url", "http://192.0.2.1:8080"])


@pytest.mark.parametrize(
    "arguments", [["--chunk-tokens", "100"], ["--memory-tokens", "8"], ["--place", "1.5"], ["--rounds", "0"]]
)
def test_sizes_out_of_their_bounds_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        obedient_options_of(arguments)

    assert f"argument {arguments[0]}" in capsys.readouterr().err


def test_several_sizes_are_taken_each_with_each() -> None:
    options = obedient_options_of(["--chunk-tokens", "300", "1000", "--memory-tokens", "64"])

    assert (options.chunks, options.memories, options.llama_url) == ((300, 1000), (64,), None)


def test_a_server_that_is_away_is_one_line_and_no_traceback() -> None:
    with serving(lambda _: Reply(body={})) as url:
        pass
    command = [sys.executable, "-m", "benchmarks.reading.obedient", "--llama-url", url]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=dict(os.environ))

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"error: no llama-server answers at {url}: ")
    assert ended.stderr.count("\n") == 1
