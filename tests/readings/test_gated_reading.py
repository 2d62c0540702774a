"""The gated loop on scripted models: what changes the memory, what ends it, and what leaves it (R2, R3, R4)."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

import pytest

from service.core.baseline import Thinking
from service.core.errors import ErrorKind
from service.core.reading.options import ExitMode
from service.core.reading.records import (
    AnswerGiven,
    BudgetExceeded,
    Evidence,
    GateSet,
    MemoryWritten,
    ParseFailed,
    ReadingOutcome,
    ReadingPlanned,
    ReadingRecord,
    ReadingUsage,
    RunEnd,
)
from tests.readings.reader_llama import RETAIN, AskedChunk, ReaderLlama, Says
from tests.readings.reading_house import ReadingHouse, document, retain, update

pytestmark = [pytest.mark.anyio]


def numbered(asked: AskedChunk) -> int:
    """Which part of the document the model is shown."""
    found = re.search(r"Part (\d+)", asked.section)
    assert found is not None
    return int(found[1])


def reads(table: dict[int, Says | list[Says]], otherwise: Says = RETAIN) -> ReaderLlama:
    """A model that says this of these chunks; of a list one after the other, as it is asked again."""

    def read(asked: AskedChunk) -> Says:
        said = table.get(numbered(asked), otherwise)
        return said[asked.attempt] if isinstance(said, list) else said

    return ReaderLlama(read)


Kind = TypeVar("Kind", bound=ReadingRecord)


def of_type(records: Sequence[ReadingRecord], kind: type[Kind]) -> list[Kind]:
    return [record for record in records if isinstance(record, kind)]


@pytest.mark.rules("R2", "R10")
async def test_while_every_gate_says_no_the_memory_stays_what_it_was_and_no_answer_is_made_up() -> None:
    llama = reads({})
    house = ReadingHouse(llama)

    view = await house.read(document(*["nothing"] * 5))

    assert (view.status.outcome, view.status.answer) == (ReadingOutcome.NOT_FOUND, None)
    assert (view.status.chunks_seen, view.status.chunks_used, view.status.calls) == (5, 0, 5)
    # Each chunk was asked about with the initial memory, and there was no other call.
    assert [asked.memory for asked in llama.chunks] == [None] * 5
    assert llama.answered == []
    records = await house.records(view.id)
    assert of_type(records, MemoryWritten) == []
    assert of_type(records, Evidence) == []
    assert len(of_type(records, GateSet)) == 5
    end = records[-1]
    assert isinstance(end, RunEnd)
    assert (end.final_memory_sha, end.chunks_used) == (None, 0)


@pytest.mark.rules("R2")
async def test_the_one_chunk_whose_gate_says_yes_is_the_memory_from_there_on_byte_for_byte() -> None:
    memory = 'The key is "under the \u2028mat", \U0001f511.'
    llama = reads({3: update(memory)})
    house = ReadingHouse(llama)

    view = await house.read(document(*["something"] * 5))

    assert (view.status.outcome, view.status.chunks_used, view.status.calls) == (ReadingOutcome.ANSWERED, 1, 6)
    assert [asked.memory for asked in llama.chunks] == [None, None, None, memory, memory]
    assert [asked.notes for asked in llama.answered] == [memory]
    (written,) = of_type(await house.records(view.id), MemoryWritten)
    assert (written.text, written.chunk) == (memory, 3)
    assert written.sha256 == sha256(memory.encode()).hexdigest()


@pytest.mark.rules("R2", "R11")
async def test_without_an_exit_in_use_all_is_read_and_each_exit_that_was_asked_for_is_kept() -> None:
    llama = reads({1: update("Found.", exit=True)}, otherwise=retain(exit=True))
    house = ReadingHouse(llama)

    view = await house.read(document(*["more"] * 10), exit=ExitMode.NEVER)

    assert (view.status.chunks_seen, view.status.calls) == (10, 11)
    assert [gate.exit for gate in of_type(await house.records(view.id), GateSet)] == [True] * 10


@pytest.mark.rules("R11")
async def test_an_exit_that_is_in_use_stops_at_the_first_one() -> None:
    llama = reads({1: update("Found.", exit=True)}, otherwise=retain(exit=True))
    house = ReadingHouse(llama)

    view = await house.read(document(*["more"] * 10), exit=ExitMode.ASKED)

    assert (view.status.chunks_seen, view.status.calls) == (1, 2)
    assert view.status.outcome is ReadingOutcome.ANSWERED


@pytest.mark.rules("R4", "R11")
async def test_an_exit_on_an_empty_memory_is_refused_and_counted() -> None:
    llama = reads({4: update("Found.")}, otherwise=retain(exit=True))
    house = ReadingHouse(llama)

    view = await house.read(document(*["more"] * 6), exit=ExitMode.ASKED)

    records = await house.records(view.id)
    gates = of_type(records, GateSet)
    assert [gate.exit_refused for gate in gates] == [True, True, True, False, False]
    # The first exit that finds a memory is the one of chunk 5.
    assert view.status.chunks_seen == 5
    assert of_type(records, RunEnd)[0].exits_refused == 3


@pytest.mark.rules("R3")
@pytest.mark.parametrize("exit_gate", [False, True])
async def test_a_candidate_over_the_budget_is_never_kept_and_its_exit_counts(exit_gate: bool) -> None:
    long = " ".join(["word"] * 4000)
    llama = reads({1: update("Short."), 2: update(long, exit=exit_gate)})
    house = ReadingHouse(llama)
    llama.context_tokens = 16_384

    view = await house.read(document(*["more"] * 4), memory_budget=1024, exit=ExitMode.ASKED)

    records = await house.records(view.id)
    (exceeded,) = of_type(records, BudgetExceeded)
    assert (exceeded.chunk, exceeded.tokens, exceeded.budget) == (2, 4000, 1024)
    assert [written.text for written in of_type(records, MemoryWritten)] == ["Short."]
    assert (view.status.chunks_used, view.status.chunks_seen) == (1, 2 if exit_gate else 4)
    assert [asked.memory for asked in llama.chunks[2:]] == ["Short."] * (0 if exit_gate else 2)


@pytest.mark.rules("R3", "R2")
async def test_a_candidate_that_was_cut_is_over_the_budget_and_has_no_gate() -> None:
    cut = '{"update": true, "memory": "It goes on and on'
    llama = reads({1: update("Short."), 2: (cut, "length")})
    house = ReadingHouse(llama)

    view = await house.read(document(*["more"] * 3))

    records = await house.records(view.id)
    (exceeded,) = of_type(records, BudgetExceeded)
    assert (exceeded.chunk, exceeded.tokens) == (2, None)
    assert [gate.chunk for gate in of_type(records, GateSet)] == [1, 3]
    assert (view.status.calls, view.status.chunks_used) == (4, 1)
    assert all(request.max_tokens == 2 * 64 + 256 for request in llama.requests)


@pytest.mark.rules("R4", "R5")
async def test_two_replies_that_do_not_parse_and_a_good_one_are_three_calls_for_one_chunk() -> None:
    llama = reads({2: ["Sure! update: true", '{"update": "yes", "exit": false}', update("Found.")]})
    house = ReadingHouse(llama)

    view = await house.read(document(*["more"] * 3))

    records = await house.records(view.id)
    assert [asked.attempt for asked in llama.chunks] == [0, 0, 1, 2, 0]
    assert [written.chunk for written in of_type(records, MemoryWritten)] == [2]
    assert [usage.usage.completions for usage in of_type(records, ReadingUsage)] == [1, 3, 1, 1]
    assert of_type(records, ParseFailed) == []
    again = [request.sampling for request in llama.requests[2:4]]
    assert all(sampling["temperature"] >= 0.7 for sampling in again)
    assert len({sampling["seed"] for sampling in [llama.requests[1].sampling, *again]}) == 3
    assert view.status.calls == 6


@pytest.mark.rules("R4")
async def test_a_chunk_of_which_no_reply_parses_changes_nothing_and_the_loop_goes_on() -> None:
    llama = reads({1: update("Found."), 2: "I would say true."})
    house = ReadingHouse(llama)

    view = await house.read(document(*["more"] * 3))

    records = await house.records(view.id)
    (failed,) = of_type(records, ParseFailed)
    assert (failed.chunk, failed.attempts) == (2, 3)
    assert [gate.chunk for gate in of_type(records, GateSet)] == [1, 3]
    assert [asked.memory for asked in llama.chunks] == [None, "Found.", "Found.", "Found.", "Found."]
    assert (view.status.chunks_seen, view.status.chunks_used, view.status.calls) == (3, 1, 6)


@pytest.mark.rules("R2", "R8")
async def test_each_memory_names_the_evidence_of_its_chunk_and_the_memory_before() -> None:
    read = document("one", "two", "three", "four")
    llama = reads({1: update("First."), 3: update("First and third.")})
    house = ReadingHouse(llama)

    view = await house.read(read)

    records = await house.records(view.id)
    (planned,) = of_type(records, ReadingPlanned)
    first, second = of_type(records, MemoryWritten)
    evidence = of_type(records, Evidence)
    text = read.text.encode()
    for found, chunk in zip(evidence, (1, 3), strict=True):
        ends = (0, *planned.ends[0])
        assert (found.level, found.document, found.start, found.end) == (0, 1, ends[chunk - 1], ends[chunk])
        assert found.sha256 == sha256(text[found.start : found.end]).hexdigest()
    assert first.parents == (evidence[0].sha256,)
    assert second.parents == (evidence[1].sha256, first.sha256)
    (answer,) = of_type(records, AnswerGiven)
    (end,) = of_type(records, RunEnd)
    assert answer.memory == second.sha256 == end.final_memory_sha


@pytest.mark.rules("R10", "R11")
async def test_an_obedient_model_that_finds_it_at_a_fifth_reads_a_fifth() -> None:
    llama = reads({20: update("It is here.", exit=True)})
    house = ReadingHouse(llama)

    asked = await house.read(document(*["more"] * 100), exit=ExitMode.ASKED)
    never = await ReadingHouse(llama).read(document(*["more"] * 100))

    assert (asked.status.calls, never.status.calls) == (21, 101)
    assert asked.status.answer == never.status.answer == "Answer: It is here."


@pytest.mark.rules("R10")
async def test_where_nothing_is_found_there_is_a_call_for_each_chunk_and_none_for_an_answer() -> None:
    view = await ReadingHouse(reads({})).read(document(*["more"] * 100), exit=ExitMode.ASKED)

    assert (view.status.calls, view.status.outcome, view.status.answer) == (100, ReadingOutcome.NOT_FOUND, None)


@pytest.mark.rules("R7")
async def test_all_before_the_chunk_is_the_same_while_the_memory_is() -> None:
    llama = reads({3: update("Found.")})
    await ReadingHouse(llama).read(document(*["more"] * 5))

    def head(number: int) -> str:
        system, told = (str(message["content"]) for message in llama.requests[number].messages)
        before, section, _ = told.partition("Section:\n<untrusted ")
        assert section
        return f"{system}\n{before}"

    assert head(0) == head(1) == head(2) != head(3) == head(4)
    assert head(0).index("Question:") < head(0).index("Memory:")


def drafted(answer: str, memory: str | None = None) -> str:
    """What a model writes that is asked for a draft of its answer, too."""
    members = {"update": memory is not None, **({} if memory is None else {"memory": memory}), "exit": False}
    return json.dumps({**members, "answer": answer})


@pytest.mark.rules("R11", "R2")
@pytest.mark.parametrize(("probability", "seen"), [(1.0, 5), (0.99, 10)])
async def test_a_measured_reading_stops_when_it_has_been_sure_of_the_same_answer_for_three_chunks(
    probability: float, seen: int
) -> None:
    llama = reads(
        {1: drafted(""), 2: drafted("Rome", "It may be Rome."), 3: drafted("Oslo", "It is Oslo.")}, drafted("Oslo")
    )
    llama.sure = lambda _: probability
    house = ReadingHouse(llama)

    view = await house.read(document(*["more"] * 10), exit=ExitMode.MEASURED)

    assert (view.status.chunks_seen, view.status.calls) == (seen, seen + 1)
    gates = of_type(await house.records(view.id), GateSet)
    assert [gate.draft for gate in gates[:3]] == ["", "Rome", "Oslo"]
    # Of its one token and of the mark that ends it.
    assert gates[2].draft_probability == pytest.approx(probability**2)
    assert gates[2].update_probability == (1.0 if probability == 1.0 else None)


@pytest.mark.rules("R11")
async def test_a_server_that_tells_no_probabilities_never_ends_a_measured_reading() -> None:
    llama = reads({1: drafted("Oslo", "It is Oslo.")}, drafted("Oslo"))

    view = await ReadingHouse(llama).read(document(*["more"] * 6), exit=ExitMode.MEASURED)

    assert view.status.chunks_seen == 6


@pytest.mark.rules("R4", "L1")
async def test_each_reply_is_bound_to_its_form_and_in_length_and_the_answer_is_free() -> None:
    llama = reads({1: update("Found.")})
    await ReadingHouse(llama).read(document("a", "b"))

    chunk, _, answer = llama.requests
    assert chunk.grammar is not None
    assert 'root ::= "{\\"update\\": " (no | yes) "}"' in chunk.grammar
    assert (chunk.logprobs, chunk.thinking, answer.grammar, answer.logprobs) == (True, Thinking.OFF, None, False)
    assert chunk.max_tokens == answer.max_tokens == 2 * 64 + 256


@pytest.mark.rules("T11")
async def test_an_answer_without_a_word_is_asked_for_again_and_in_the_end_fails_the_reading() -> None:
    says = [" ", "\n", "Under the mat."]
    llama = reads({1: update("Found.")})
    llama.answers = lambda _: says.pop(0)
    view = await ReadingHouse(llama).read(document("a"))
    assert (view.status.answer, view.status.calls) == ("Under the mat.", 4)

    llama.answers = lambda _: ""
    view = await ReadingHouse(llama).read(document("a"))
    assert view.status.outcome is ReadingOutcome.FAILED
    assert view.status.error is not None
    assert (view.status.error.kind, view.status.calls, view.status.chunks_used) == (ErrorKind.EMPTY_ANSWER, 4, 1)


@pytest.mark.timeout(180)
@pytest.mark.rules("R4", "R10")
async def test_ten_thousand_replies_that_do_not_parse_change_nothing_and_cost_three_calls_a_chunk() -> None:
    draw = random.Random(11)
    malformed = [
        "", "yes", "update: true", "{}", "[]", "null", '{"update": true}', '{"update": 1, "exit": 0}', "{" * 500,
        '{"update": true, "memory": 7, "exit": false}', '{"update": true, "memory": "", "exit": true}',
        '{"update": false, "exit": false} and so on', '```json\n{"update": false, "exit": true}\n```', "\x00\ufffd",
    ]  # fmt: skip
    replies = 0
    while replies < 10_000:
        llama = reads({}, otherwise="")
        llama.reads = lambda asked: update("Kept.") if numbered(asked) == 1 else draw.choice(malformed)
        house = ReadingHouse(llama)

        view = await house.read(document(*["more"] * 400), exit=ExitMode.ASKED)

        chunks = view.status.chunks_seen
        records = await house.records(view.id)
        assert [written.text for written in of_type(records, MemoryWritten)] == ["Kept."]
        assert len(of_type(records, ParseFailed)) == chunks - 1
        assert len(of_type(records, GateSet)) == 1
        assert view.status.calls == llama.calls == 1 + 3 * (chunks - 1) + 1
        replies += 3 * (chunks - 1)
