"""Calls a running service, and comes back to its streams when a connection breaks (H6).

Above: the command line, by the protocol `RunningService`. Below: httpx. What events say is the caller's business.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus
from typing import cast
from uuid import uuid4

import httpx

from service.adapters.service_client.connection import answered, build_service_client, json_of, next_chunk
from service.adapters.service_client.upload import form_request
from service.core.errors import ModelFailure
from service.core.json_types import JsonObject
from service.core.sse import SseDecoder, SseEvent
from service.ports.running_service import (
    ComingBack,
    Sent,
    SentFile,
    ServiceAway,
    ServiceLost,
    ServiceRefused,
    ServiceTrouble,
    Told,
    ToldEvent,
    WorkBegun,
)

WAITS_S = (1.0, 2.0, 4.0, 8.0, 16.0)
"""How long it waits before each attempt to come back, in a row of attempts in vain."""

SILENCE_S = 90.0
"""A quiet stream has a comment every 15 s unless the service is told otherwise."""

_SHORT_ANSWER_S = 30.0
# The plan of a reading is one record, and names the end of each chunk.
_EVENT_BYTES = 64 * 1024 * 1024
_EVENT_STREAM = {"Accept": "text/event-stream"}
# What a stream says when it ends before its work does.
_PARTINGS = frozenset({"shutting_down", "store_error", "resync"})


class ServiceHttp:
    """One service behind a client that its maker closes; `sleep` is how it waits before it comes back."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        silence_s: float = SILENCE_S,
    ) -> None:
        self._client = client
        self._sleep = sleep
        self._silence_s = silence_s

    async def get(self, path: str) -> JsonObject:
        """Fetch what is at this path.

        Raises:
            ServiceTrouble: one of its kinds.
        """
        return await self._short("GET", path)

    async def post(self, path: str) -> JsonObject:
        """Ask for something that needs no body.

        Raises:
            ServiceTrouble: one of its kinds.
        """
        return await self._short("POST", path)

    async def send(self, path: str, body: JsonObject, *, later: bool = False) -> JsonObject:
        """Post JSON; `later` asks for an answer at once, though the work goes on (H1).

        The request has a key, so that it does its work once when it has to be made again (H3).

        Raises:
            ServiceTrouble: one of its kinds.
        """
        headers = {"Accept": "application/json", "Idempotency-Key": uuid4().hex}
        headers |= {"Prefer": "respond-async"} if later else {}
        for attempt, wait_s in enumerate(WAITS_S):
            try:
                return await self._answer(self._client.build_request("POST", path, json=body, headers=headers))
            except ServiceTrouble as trouble:
                if not _may_pass(trouble, begun=attempt > 0):
                    raise
            await self._sleep(wait_s)
        return await self._answer(self._client.build_request("POST", path, json=body, headers=headers))

    async def _short(self, method: str, path: str) -> JsonObject:
        return await self._answer(self._client.build_request(method, path, headers={"Accept": "application/json"}))

    async def _answer(self, request: httpx.Request) -> JsonObject:
        try:
            async with asyncio.timeout(_SHORT_ANSWER_S), answered(self._client, request) as response:
                return await json_of(response)
        except TimeoutError as error:
            raise ServiceLost(f"it did not answer within {_SHORT_ANSWER_S:g} s") from error

    async def send_files(
        self, path: str, fields: Mapping[str, str], files: Sequence[SentFile], *, ends_with: str, sent: Sent
    ) -> AsyncGenerator[Told]:
        """Post a form and tell what comes of it, up to the event of the type `ends_with`.

        The request has a key, so that it begins nothing twice when it has to be made again (H3).

        Raises:
            ServiceTrouble: one of its kinds.
            OSError: a file could not be read.
        """
        headers = {**_EVENT_STREAM, "Idempotency-Key": uuid4().hex}

        def post() -> httpx.Request:
            return form_request(self._client, path, fields, files, headers, sent)

        async with aclosing(self._follow(post, None, ends_with)) as told:
            async for item in told:
                yield item

    async def follow(self, location: str, *, ends_with: str) -> AsyncGenerator[Told]:
        """Tell what comes of the work at this path, from its beginning up to the event of the type `ends_with`.

        Raises:
            ServiceTrouble: one of its kinds.
        """
        async with aclosing(self._follow(None, location, ends_with)) as told:
            async for item in told:
                yield item

    async def _follow(
        self, post: Callable[[], httpx.Request] | None, location: str | None, ends_with: str
    ) -> AsyncGenerator[Told]:
        pos, attempt = None, 0
        while True:
            try:
                async with answered(self._client, self._next_request(post, location, pos)) as response:
                    if location is None:
                        location = _location(response)
                        yield WorkBegun(location=location)
                    if response.status_code == HTTPStatus.NO_CONTENT:
                        return
                    async with aclosing(self._events(response)) as events:
                        async for event in events:
                            pos = pos if event.pos is None else event.pos
                            attempt = attempt if event.type in _PARTINGS else 0
                            yield event
                            if event.type == ends_with:
                                return
                reason = "the service ended the stream"
            except ServiceTrouble as trouble:
                if not _may_pass(trouble, begun=location is not None or attempt > 0):
                    raise
                reason = str(trouble)
            if attempt == len(WAITS_S):
                raise ServiceLost(reason)
            yield ComingBack(reason=reason, attempt=attempt + 1, attempts=len(WAITS_S), wait_s=WAITS_S[attempt])
            await self._sleep(WAITS_S[attempt])
            attempt += 1

    def _next_request(
        self, post: Callable[[], httpx.Request] | None, location: str | None, pos: int | None
    ) -> httpx.Request:
        if location is None:
            assert post is not None  # what has no place yet is to be begun
            return post()
        headers = _EVENT_STREAM if pos is None else {**_EVENT_STREAM, "Last-Event-ID": str(pos)}
        return self._client.build_request("GET", f"{location}/events", headers=headers)

    async def _events(self, response: httpx.Response) -> AsyncGenerator[ToldEvent]:
        decoder = SseDecoder(max_line_bytes=_EVENT_BYTES, max_event_bytes=_EVENT_BYTES)
        chunks = cast(AsyncGenerator[bytes], response.aiter_raw())
        while (chunk := await next_chunk(chunks, self._silence_s)) is not None:
            try:
                items = list(decoder.feed(chunk))
            except ModelFailure as failure:
                raise ServiceTrouble("what answers there is no Turnkeeper: its stream can't be read") from failure
            for item in items:
                if isinstance(item, SseEvent) and (event := _event(item)) is not None:
                    yield event


def _location(response: httpx.Response) -> str:
    location = response.headers.get("Content-Location", "")
    if not location.startswith("/"):
        raise ServiceTrouble("what answers there is no Turnkeeper: it does not say what it has begun")
    return location


def _may_pass(trouble: ServiceTrouble, *, begun: bool) -> bool:
    """Say whether another attempt makes sense; at the first one an address where nothing answers is wrong."""
    match trouble:
        case ServiceAway():
            return begun
        case ServiceRefused(status=status):
            return begun and status >= HTTPStatus.INTERNAL_SERVER_ERROR
        case _:
            return isinstance(trouble, ServiceLost)


def _event(item: SseEvent) -> ToldEvent | None:
    try:
        data: object = json.loads(item.data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    members = cast(JsonObject, data)
    pos: object = members.get("pos")
    return ToldEvent(type=item.event, data=members, pos=pos if type(pos) is int else None)


@asynccontextmanager
async def open_service(url: str, api_key: str | None = None) -> AsyncGenerator[ServiceHttp]:
    """Give a client of the service at this address, with this key; it is asked for nothing yet.

    Raises:
        ServiceTrouble: it is no address.
    """
    try:
        client = build_service_client(url, api_key)
        # Some names are decoded, and found to be none, only when they are looked at.
        _ = client.base_url.host
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ServiceTrouble("the address of the service is none") from error
    async with client:
        yield ServiceHttp(client)
