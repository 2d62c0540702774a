"""How the prompts of a reading are put together (R4, R7)."""

from __future__ import annotations

from typing import Any

import pytest

from service.core.reading.prompts import NO_MEMORY, ReadingPrompts, gates_grammar

pytestmark = [pytest.mark.rules("R7")]


def prompts(**changes: Any) -> ReadingPrompts:
    given: dict[str, Any] = {
        "query": "Where is {it}?",
        "fence": "f" * 16,
        "memory_budget": 64,
        "answer_tokens": 384,
        "model": "m",
        "system_role": True,
    }
    return ReadingPrompts(**{**given, **changes})


def texts(made: ReadingPrompts, memory: str | None, chunk: str) -> list[str]:
    return [str(message["content"]) for message in made.for_chunk(memory, chunk).messages]


def test_instructions_question_memory_and_chunk_stand_in_this_order_and_nothing_behind_the_chunk() -> None:
    instructions, told = texts(prompts(), "It may be {here}.", "A {chunk}.")

    assert "64 tokens" in instructions
    assert told.startswith("Question:\nWhere is {it}?\n\nMemory:\nIt may be {here}.\n\nSection:\n")
    assert told.endswith(f"<untrusted {'f' * 16}>\nA {{chunk}}.\n</untrusted {'f' * 16}>")
    assert NO_MEMORY in texts(prompts(), None, "A chunk.")[1]


@pytest.mark.rules("P8")
def test_a_template_without_a_system_role_gets_the_instructions_with_the_question() -> None:
    with_role, without = texts(prompts(), "M", "C"), texts(prompts(system_role=False), "M", "C")

    assert without == ["\n\n".join(with_role)]
    assert [message["role"] for message in prompts(system_role=False).for_answer("M").messages] == ["user"]


@pytest.mark.rules("R11")
def test_a_draft_is_asked_for_and_bound_to_only_where_it_is_wanted() -> None:
    assert '"answer"' not in texts(prompts(), None, "C")[0]
    assert '"answer": ""' in texts(prompts(with_draft=True), None, "C")[0]
    assert r"\"answer\": " not in gates_grammar(with_draft=False)
    assert r"\"answer\": " in gates_grammar(with_draft=True)


@pytest.mark.rules("R4")
def test_each_time_it_is_asked_again_it_is_warmer_and_with_another_seed() -> None:
    samplings = [prompts().for_chunk(None, "C", attempt=attempt).sampling for attempt in range(3)]

    assert samplings[0]["temperature"] == 0
    assert {sampling["repeat_penalty"] for sampling in samplings} == {1.1}
    assert "repeat_penalty" not in prompts().for_answer("M").sampling
    assert all(sampling["temperature"] >= 0.7 for sampling in samplings[1:])
    assert len({sampling["seed"] for sampling in samplings}) == 3
