"""The gated reading as a client of the service: what is asked, what is taken from it, and what is cleaned up."""

from __future__ import annotations

import json

import anyio
import httpx
import pytest

from benchmarks.reading.failures import AttemptFailed
from benchmarks.reading.placing import Span
from benchmarks.reading.rivals.gated import Exit, Gated
from benchmarks.reading.spent import Meter, Spent
from benchmarks.reading.tasks import Kind, Task, make_task
from benchmarks.reading.texts import WordListText
from service.core.json_types import JsonObject
from tests.benchmarks.scripted_server import Reply, Request, serving

pytestmark = [pytest.mark.anyio]

USAGE = {"prompt_tokens": 900, "cached_tokens": 700, "completion_tokens": 40, "reasoning_tokens": 0}
READING: JsonObject = {
    "id": "rdg_1",
    "state": "finished",
    "outcome": "answered",
    "answer": "It is 471.",
    "calls": 5,
    "chunks_used": 1,
    "usage": USAGE,
}


def task_of_words() -> Task:
    return make_task(Kind.NEEDLE, seed=1, words=100, source=WordListText())


def gated(http: httpx.AsyncClient, url: str, exit: Exit = Exit.NEVER) -> Gated:
    return Gated(http, url, exit=exit, chunk_tokens=400, memory_budget=64)


def frame(number: int, event: str, **data: object) -> str:
    return f"id: {number}\nevent: {event}\ndata: {json.dumps({'type': event, **data})}\n\n"


class ScriptedService:
    """A service whose reading goes through these states, one for each look at it."""

    def __init__(self, *looks: JsonObject, events: str = "") -> None:
        self._looks = list(looks)
        self._events = events
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        self.requests.append(request)
        match request.method, request.path:
            case "POST", "/readings":
                return Reply(status=202, body={**READING, "state": "queued"}, headers={"Location": "/readings/rdg_1"})
            case "GET", "/readings/rdg_1/events":
                return Reply(body=self._events.encode(), headers={"Content-Type": "text/event-stream"})
            case "GET", "/readings/rdg_1":
                return Reply(body=self._looks.pop(0) if len(self._looks) > 1 else self._looks[0])
            case "POST", "/readings/rdg_1/cancel":
                return Reply(status=202, body=READING)
            case _:
                return Reply(status=404, body={"code": "not_found"})

    @property
    def paths(self) -> list[str]:
        """What was asked, in order."""
        return [f"{request.method} {request.path}" for request in self.requests]


@pytest.mark.rules("R1")
async def test_a_reading_is_asked_for_with_the_sizes_and_the_exit_that_were_given(http: httpx.AsyncClient) -> None:
    task, service = task_of_words(), ScriptedService(READING)
    with serving(service) as url:
        answer = await gated(http, url, Exit.ASKED).answer(task, Meter())

    assert answer.text == "It is 471."
    assert service.paths == ["POST /readings", "GET /readings/rdg_1/events", "GET /readings/rdg_1"]
    assert service.requests[0].body == {
        "query": task.query,
        "documents": [{"name": task.documents[0].name, "text": task.documents[0].text}],
        "level": 1,
        "exit": "asked",
        "chunk_tokens": 400,
        "memory_budget": 64,
    }


async def test_calls_and_tokens_are_those_of_the_resource(http: httpx.AsyncClient) -> None:
    meter = Meter()
    with serving(ScriptedService(READING)) as url:
        await gated(http, url).answer(task_of_words(), meter)

    assert meter.spent == Spent(calls=5, evaluated_tokens=200, cached_tokens=700, output_tokens=40)


@pytest.mark.rules("R2")
async def test_the_evidence_of_chunks_is_what_the_answer_rests_on(http: httpx.AsyncClient) -> None:
    events = (
        ": ping\n\n"
        + frame(1, "gate", chunk=1, update=True)
        + frame(2, "evidence", document=1, start=10, end=50, level=0)
        + frame(3, "evidence", document=1, start=0, end=4, level=1)
        + frame(4, "evidence", document=2, start=90, end=99, level=0)
    )
    with serving(ScriptedService(READING, events=events)) as url:
        answer = await gated(http, url).answer(task_of_words(), Meter())

    assert answer.relied_on == (Span(document=0, start=10, end=50), Span(document=1, start=90, end=99))


@pytest.mark.rules("R10")
async def test_a_reading_that_used_no_chunk_answers_not_found(http: httpx.AsyncClient) -> None:
    with serving(ScriptedService({**READING, "outcome": "not_found", "answer": None})) as url:
        answer = await gated(http, url).answer(task_of_words(), Meter())

    assert answer.text == "not found"
    assert answer.relied_on == ()


async def test_a_stream_that_ends_too_early_is_followed_again(http: httpx.AsyncClient) -> None:
    service = ScriptedService(
        {**READING, "state": "running"}, READING, events=frame(1, "evidence", document=1, start=1, end=2, level=0)
    )
    with serving(service) as url:
        answer = await gated(http, url).answer(task_of_words(), Meter())

    assert service.paths.count("GET /readings/rdg_1/events") == 2
    assert answer.relied_on == (Span(document=0, start=1, end=2),)


async def test_a_reading_that_never_finishes_is_given_up_and_cancelled(http: httpx.AsyncClient) -> None:
    service = ScriptedService({**READING, "state": "running"})
    with serving(service) as url, pytest.raises(AttemptFailed, match="has not finished"):
        await gated(http, url).answer(task_of_words(), Meter())

    assert service.paths[-1] == "POST /readings/rdg_1/cancel"


async def test_a_reading_that_passes_the_bound_is_cancelled(http: httpx.AsyncClient) -> None:
    service, looked = ScriptedService({**READING, "state": "running"}), anyio.Event()

    class Watched(httpx.AsyncBaseTransport):
        """Never answers a look at the reading, and hands on all else."""

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path.endswith("/rdg_1"):
                looked.set()
                await anyio.sleep_forever()
            answer = await http.request(request.method, request.url, content=await request.aread())
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    with serving(service) as url:
        async with httpx.AsyncClient(transport=Watched()) as watched, anyio.create_task_group() as group:
            group.start_soon(gated(watched, url).answer, task_of_words(), Meter())
            await looked.wait()
            group.cancel_scope.cancel()

    assert service.paths[-1] == "POST /readings/rdg_1/cancel"


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ({**READING, "outcome": "failed", "error": {"kind": "connect"}}, "ended with failed: .*connect"),
        ({**READING, "outcome": "cancelled"}, "ended with cancelled"),
        ({**READING, "usage": None}, "does not say what it used"),
        ({**READING, "calls": None}, "does not say what it used"),
    ],
)
async def test_a_reading_without_an_answer_fails_the_attempt(
    http: httpx.AsyncClient, reading: JsonObject, message: str
) -> None:
    with serving(ScriptedService(reading)) as url, pytest.raises(AttemptFailed, match=message):
        await gated(http, url).answer(task_of_words(), Meter())


async def test_a_service_that_refuses_is_quoted(http: httpx.AsyncClient) -> None:
    def script(_: Request) -> Reply:
        return Reply(status=422, body={"code": "validation", "detail": "chunk_tokens"})

    with serving(script) as url, pytest.raises(AttemptFailed, match=r"POST /readings: 422 .*chunk_tokens"):
        await gated(http, url).answer(task_of_words(), Meter())


async def test_evidence_of_an_unknown_form_fails_the_attempt(http: httpx.AsyncClient) -> None:
    service = ScriptedService(READING, events=frame(1, "evidence", level=0))
    with serving(service) as url, pytest.raises(AttemptFailed, match="unknown form"):
        await gated(http, url).answer(task_of_words(), Meter())
