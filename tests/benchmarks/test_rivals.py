"""The rivals on a scripted llama-server: what they ask, in which order, and what is counted."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import httpx
import pytest

from benchmarks.reading.failures import AttemptFailed, BenchmarkFailed, DoesNotFit
from benchmarks.reading.model_server import ModelServer
from benchmarks.reading.ranking import BM25_PACKAGE, bm25_ranking
from benchmarks.reading.rivals.always_update import AlwaysUpdate
from benchmarks.reading.rivals.full_text import FullText
from benchmarks.reading.rivals.map_reduce import MapReduce
from benchmarks.reading.rivals.retrieval import Retrieval
from benchmarks.reading.rivals.rival import whole_text
from benchmarks.reading.room import Room
from benchmarks.reading.spent import Meter
from benchmarks.reading.tasks import Kind, Task, make_task
from benchmarks.reading.texts import WordListText
from tests.benchmarks.scripted_server import Reply, Request, ScriptedLlama, serving

pytestmark = [pytest.mark.anyio]

ROOM = Room(context=2048, chunk=400, memory=64)
LONG, SHORT = 2500, 300


def task_of(words: int, kind: Kind = Kind.NEEDLE) -> Task:
    return make_task(kind, seed=3, words=words, source=WordListText(), depth=0.5)


def reader(task: Task) -> ScriptedLlama:
    """A model that repeats the sentence of the evidence wherever it sees it, and else finds nothing."""
    start, end = task.evidence[0].start, task.evidence[0].end
    sentence = task.documents[0].text[start:end]
    return ScriptedLlama(lambda prompt: sentence if sentence in prompt else "not found")


def by_shared_words(query: str, passages: Sequence[str], count: int) -> list[int]:
    asked = set(re.findall(r"\w+", query))
    return sorted(range(len(passages)), key=lambda at: -len(asked & set(re.findall(r"\w+", passages[at]))))[:count]


async def test_always_update_hands_the_memory_on_through_all_chunks_and_asks_it_at_the_end(
    http: httpx.AsyncClient,
) -> None:
    task, meter = task_of(LONG), Meter()
    llama = reader(task)
    with serving(llama) as url:
        answer = await AlwaysUpdate(ModelServer(http, url), ROOM).answer(task, meter)

    *updates, last = llama.prompts
    seen = [prompt for prompt in updates if task.answers[0] in prompt]
    assert len(updates) == len(llama.counted) == 7
    assert "(nothing yet)" in updates[0]
    assert seen == updates[3:]
    assert "Section:" not in last
    assert task.answers[0] in answer.text
    assert answer.relied_on is None
    assert [body["max_tokens"] for body in llama.bodies] == [64] * 7 + [96]


async def test_what_is_counted_are_calls_and_tokens_with_those_of_the_cache_apart(http: httpx.AsyncClient) -> None:
    task, meter = task_of(LONG), Meter()
    llama = reader(task)
    with serving(llama) as url:
        await AlwaysUpdate(ModelServer(http, url), ROOM).answer(task, meter)

    words = sum(len(prompt.split()) for prompt in llama.prompts)
    assert meter.spent.calls == 8
    assert meter.spent.evaluated_tokens + meter.spent.cached_tokens == words
    # Instructions and question of each update after the first stay in the cache.
    assert 6 * 50 < meter.spent.cached_tokens < 6 * 120
    assert 0 < meter.spent.output_tokens < 8 * 20


async def test_each_call_is_bounded_and_without_chance(http: httpx.AsyncClient) -> None:
    llama = ScriptedLlama(lambda _: "word " * 1000)
    with serving(llama) as url:
        completion = await ModelServer(http, url, seed=5).complete("Hello", 10, Meter())

    assert completion.cut
    assert len(completion.text.split()) == 10
    assert {key: llama.bodies[0][key] for key in ("temperature", "seed", "cache_prompt")} == {
        "temperature": 0,
        "seed": 5,
        "cache_prompt": True,
    }


async def test_map_reduce_asks_each_chunk_alone_and_merges_what_was_found(http: httpx.AsyncClient) -> None:
    task, meter = task_of(LONG), Meter()
    llama = reader(task)
    with serving(llama) as url:
        answer = await MapReduce(ModelServer(http, url), ROOM).answer(task, meter)

    *chunks, merging = llama.prompts
    assert len(chunks) == 7
    assert sum(task.answers[0] in prompt for prompt in chunks) == 1
    assert merging.count("\n- ") == 1
    assert task.answers[0] in answer.text
    assert meter.spent.calls == 8


async def test_map_reduce_merges_in_groups_that_fit_until_one_answer_is_left(http: httpx.AsyncClient) -> None:
    llama = ScriptedLlama(lambda _: "nine " * 96)
    room = Room(context=800, chunk=200, memory=64)
    with serving(llama) as url:
        await MapReduce(ModelServer(http, url), room).answer(task_of(LONG), Meter())

    merging = [prompt.count("\n- ") for prompt in llama.prompts if "\n- " in prompt]
    assert merging == [4, 4, 4, 2, 4]
    assert max(len(prompt.split()) for prompt in llama.prompts) + 96 <= 800


async def test_map_reduce_says_not_found_without_merging_when_no_chunk_answers(http: httpx.AsyncClient) -> None:
    llama = ScriptedLlama(lambda _: "It is not mentioned.")
    with serving(llama) as url:
        answer = await MapReduce(ModelServer(http, url), ROOM).answer(task_of(LONG), Meter())

    assert answer.text == "not found"
    assert len(llama.prompts) == 7


async def test_full_text_is_one_call_where_it_fits(http: httpx.AsyncClient) -> None:
    task, meter = task_of(SHORT), Meter()
    llama = reader(task)
    with serving(llama) as url:
        answer = await FullText(ModelServer(http, url), ROOM).answer(task, meter)

    assert whole_text(task) in llama.prompts[0]
    assert task.answers[0] in answer.text
    assert meter.spent.calls == 1


async def test_full_text_that_does_not_fit_is_not_asked(http: httpx.AsyncClient) -> None:
    llama = ScriptedLlama(lambda _: "never")
    with serving(llama) as url, pytest.raises(DoesNotFit, match=r"\d+ tokens in a context of 2048"):
        await FullText(ModelServer(http, url), ROOM).answer(task_of(LONG), Meter())

    assert llama.prompts == []


async def test_retrieval_shows_the_best_passages_in_the_order_of_the_text(http: httpx.AsyncClient) -> None:
    task, meter = task_of(LONG), Meter()
    llama = reader(task)
    with serving(llama) as url:
        answer = await Retrieval(ModelServer(http, url), ROOM, by_shared_words).answer(task, meter)

    text = task.documents[0].text.encode()
    assert answer.relied_on is not None
    shown = [text[span.start : span.end].decode().strip() for span in answer.relied_on]
    places = [llama.prompts[0].index(passage) for passage in shown]
    assert len(shown) == 6
    assert places == sorted(places)
    assert [span.start for span in answer.relied_on] == sorted(span.start for span in answer.relied_on)
    assert task.answers[0] in answer.text
    assert meter.spent.calls == 1
    assert len(llama.prompts[0].split()) + 96 <= ROOM.context


async def test_a_text_of_few_passages_is_shown_whole(http: httpx.AsyncClient) -> None:
    task = task_of(SHORT)
    with serving(reader(task)) as url:
        answer = await Retrieval(ModelServer(http, url), ROOM, by_shared_words).answer(task, Meter())

    assert answer.relied_on is not None
    assert sum(span.end - span.start for span in answer.relied_on) == len(task.documents[0].text.encode())


def test_bm25_puts_the_passage_with_the_rare_words_of_the_question_first() -> None:
    pytest.importorskip(BM25_PACKAGE)
    passages = [*WordListText().sentences(random.Random(1), 200), "The watchword of Belmar is tarnis."]

    best = bm25_ranking()("What is the watchword of Belmar?", passages, 6)

    assert best[0] == len(passages) - 1
    assert len(set(best)) == 6
    assert bm25_ranking()("Belmar?", passages[-2:], 6)[0] == 1


def test_a_missing_ranking_library_is_named() -> None:
    with pytest.raises(BenchmarkFailed, match="no_such_package, which ranks the passages, is not installed: pip"):
        bm25_ranking("no_such_package")


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(status=500, body={"error": {"message": "broken"}}), "/v1/chat/completions: 500 .*broken"),
        (Reply(body={"choices": []}), "unknown form"),
        (Reply(body=b"[]"), "no JSON object"),
        (Reply(body=b"<html>"), "no JSON object"),
        (
            Reply(body={"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "usage": {}}),
            "did not say prompt_tokens",
        ),
    ],
)
async def test_what_is_no_completion_fails_the_attempt(http: httpx.AsyncClient, reply: Reply, message: str) -> None:
    with serving(lambda _: reply) as url, pytest.raises(AttemptFailed, match=message):
        await ModelServer(http, url).complete("Hello", 10, Meter())


async def test_cached_tokens_are_found_in_usage_where_a_server_gives_no_timings(http: httpx.AsyncClient) -> None:
    meter = Meter()
    usage = {"prompt_tokens": 50, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 40}}
    choices = [{"message": {"content": "a"}, "finish_reason": "stop"}]

    def script(_: Request) -> Reply:
        return Reply(body={"choices": choices, "usage": usage})

    with serving(script) as url:
        await ModelServer(http, url).complete("Hello", 10, meter)

    assert (meter.spent.evaluated_tokens, meter.spent.cached_tokens, meter.spent.output_tokens) == (10, 40, 2)


async def test_a_model_is_named_without_the_folder_that_it_lies_in(http: httpx.AsyncClient) -> None:
    props = {"default_generation_settings": {"n_ctx": 4096}, "model_alias": "/models/small.gguf"}
    with serving(lambda _: Reply(body=props)) as url:
        facts = await ModelServer(http, url).facts()

    assert facts.model == "small.gguf"


@pytest.mark.parametrize(("chunk", "memory"), [(3000, 400), (64, 1900), (4096, 16)])
def test_sizes_that_pass_the_context_are_refused_before_anything_is_asked(chunk: int, memory: int) -> None:
    with pytest.raises(BenchmarkFailed, match="lower --chunk-tokens or --memory-budget"):
        Room(context=4096, chunk=chunk, memory=memory)


def test_sizes_that_just_fit_are_taken() -> None:
    assert Room(context=4096, chunk=2996, memory=400).passage == 616
