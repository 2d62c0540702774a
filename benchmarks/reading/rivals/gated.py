"""The gated reading of a running Turnkeeper, over its HTTP interface like any other client."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from enum import StrEnum

import anyio
import httpx

from benchmarks.reading.failures import AttemptFailed
from benchmarks.reading.http_answers import json_object, refusal, words_of
from benchmarks.reading.judging import NOT_FOUND
from benchmarks.reading.placing import Span
from benchmarks.reading.rivals.rival import RivalAnswer
from benchmarks.reading.spent import Meter, Spent
from benchmarks.reading.tasks import Task
from service.core.errors import ModelFailure
from service.core.json_types import JsonObject
from service.core.sse import SseDecoder, SseEvent

_ACCEPTED = 202
# A stream may end before its reading, when the service drops a slow reader.
_STREAMS = 5
# Comments come every 15 seconds.
_SILENCE_S = 60
_CANCEL_S = 5
# The service counts documents from here.
_FIRST_DOCUMENT = 1


class Exit(StrEnum):
    """Whether the model's exit gate may end the reading."""

    NEVER = "never"
    ASKED = "asked"


class Gated:
    """A reading at level 1, or 2 where a task has several documents."""

    def __init__(self, http: httpx.AsyncClient, url: str, *, exit: Exit, chunk_tokens: int, memory_budget: int) -> None:
        self.name = f"gated, exit {exit}"
        self._http = http
        self._url = url.rstrip("/")
        self._options: JsonObject = {"exit": exit, "chunk_tokens": chunk_tokens, "memory_budget": memory_budget}

    async def answer(self, task: Task, meter: Meter) -> RivalAnswer:
        """Start the reading, follow it to its end, and take what its resource says."""
        address = await self._start(task)
        try:
            reading, relied_on = await self._follow(address)
        except BaseException:
            await self._cancel(address)
            raise
        meter.add(_spent(reading))
        return RivalAnswer(text=_answer(reading), relied_on=relied_on)

    async def _start(self, task: Task) -> httpx.URL:
        body = {
            "query": task.query,
            "documents": [asdict(document) for document in task.documents],
            "level": 1 if len(task.documents) == 1 else 2,
            **self._options,
        }
        answer = await self._request("POST", httpx.URL(f"{self._url}/readings"), body)
        if answer.status_code != _ACCEPTED or "location" not in answer.headers:
            raise refusal(answer, "POST /readings")
        return answer.url.join(answer.headers["location"])

    async def _follow(self, address: httpx.URL) -> tuple[JsonObject, tuple[Span, ...]]:
        for _ in range(_STREAMS):
            relied_on = await self._evidence(address)
            reading = json_object(await self._request("GET", address), "the reading")
            if reading.get("state") == "finished":
                return reading, relied_on
        raise AttemptFailed("the stream of the reading ended again and again, and the reading has not finished")

    async def _evidence(self, address: httpx.URL) -> tuple[Span, ...]:
        """Read the stream of events, whole, and return the parts of the text that were used."""
        spans: list[Span] = []
        url = address.copy_with(path=f"{address.path}/events")
        decoder = SseDecoder()
        try:
            async with self._http.stream("GET", url, timeout=httpx.Timeout(_SILENCE_S)) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise refusal(answer, "the events of the reading")
                async for data in answer.aiter_bytes():
                    for item in decoder.feed(data):
                        spans += _span(item) if isinstance(item, SseEvent) and item.event == "evidence" else []
        except httpx.HTTPError as error:
            raise AttemptFailed(f"the events of the reading: {words_of(error)}") from error
        except ModelFailure as error:
            raise AttemptFailed(f"the events of the reading: {error}") from error
        return tuple(spans)

    async def _request(self, method: str, url: httpx.URL, body: JsonObject | None = None) -> httpx.Response:
        headers = {"Prefer": "respond-async"} if body is not None else {}
        try:
            return await self._http.request(method, url, json=body, headers=headers)
        except httpx.HTTPError as error:
            raise AttemptFailed(f"{method} {url.path}: {words_of(error)}") from error

    async def _cancel(self, address: httpx.URL) -> None:
        """Leave no reading behind that goes on asking the model while others are measured."""
        with anyio.move_on_after(_CANCEL_S, shield=True), suppress(httpx.HTTPError):
            await self._http.post(address.copy_with(path=f"{address.path}/cancel"))


def _span(event: SseEvent) -> list[Span]:
    """Return the place of evidence in a document; evidence of level 2 is in memories and has none."""
    try:
        data = json.loads(event.data)
        if data["level"] != 0:
            return []
        return [Span(document=int(data["document"]) - _FIRST_DOCUMENT, start=int(data["start"]), end=int(data["end"]))]
    except (ValueError, KeyError, TypeError) as error:
        raise AttemptFailed(f"an evidence event has an unknown form: {error!r}") from error


def _answer(reading: JsonObject) -> str:
    match reading.get("outcome"):
        case "answered":
            return str(reading.get("answer") or "")
        case "not_found":
            return NOT_FOUND
        case other:
            raise AttemptFailed(f"the reading ended with {other}: {json.dumps(reading.get('error'))}")


def _spent(reading: JsonObject) -> Spent:
    try:
        usage: JsonObject = reading["usage"]
        cached = int(usage["cached_tokens"])
        return Spent(
            calls=int(reading["calls"]),
            evaluated_tokens=int(usage["prompt_tokens"]) - cached,
            cached_tokens=cached,
            output_tokens=int(usage["completion_tokens"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise AttemptFailed(f"the reading does not say what it used: {error!r}") from error
