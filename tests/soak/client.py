"""A client of the soak: whatever breaks, it asks again with the same key until it has an answer."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx

from service.core.json_types import JsonObject
from tests.live.client import Frame, frames_of
from tests.soak.ledger import Accepted, SessionLedger

STUCK_S = 120
"""How long a client waits for one thing before it says that it is stuck."""

_PAUSE_S = 0.1


class Stuck(Exception):
    """Nothing came within the bound."""


class SoakClient:
    """Talks to the service through all its lives."""

    def __init__(self, http: httpx.AsyncClient, chance: random.Random) -> None:
        self._http = http
        self._chance = chance
        self.broken = 0
        """Connections that broke."""

    async def ask(self, method: str, path: str, *, key: str = "", body: JsonObject | None = None) -> httpx.Response:
        """Send a request until it is answered by anything but 429 or 503."""
        headers = {"Prefer": "respond-async", **({"Idempotency-Key": key} if key else {})}
        end = time.monotonic() + STUCK_S
        while time.monotonic() < end:
            try:
                answer = await self._http.request(method, path, json=body, headers=headers)
                if answer.status_code not in (429, 503):
                    return answer
            except httpx.TransportError:
                self.broken += 1
            await asyncio.sleep(_PAUSE_S)
        raise Stuck(f"{method} {path} is not answered")

    async def session(self, name: str, life: int) -> SessionLedger:
        """Make a session."""
        answer = await self.ask("POST", "/sessions", key=name, body={"system": f"You are {name}."})
        assert answer.status_code == 201, answer.text
        return SessionLedger(answer.headers["location"], name, life)

    async def send(self, ledger: SessionLedger, content: str, on_busy: str) -> Accepted:
        """Send a message until it is accepted."""
        key = f"{ledger.name}-{len(ledger.accepted)}-{self._chance.randrange(1 << 60)}"
        body = {"content": content, "on_busy": on_busy}
        answer = await self.ask("POST", f"{ledger.path}/turns", key=key, body=body)
        return self._keep(ledger, key, content, answer)

    async def send_at_once(self, ledger: SessionLedger, content: str, times: int) -> Accepted:
        """Send the same message with the same key several times at once."""
        key = f"{ledger.name}-{len(ledger.accepted)}-{self._chance.randrange(1 << 60)}"
        body = {"content": content, "on_busy": "queue"}
        asking = (self.ask("POST", f"{ledger.path}/turns", key=key, body=body) for _ in range(times))
        answers = await asyncio.gather(*asking)
        assert len({answer.headers["location"] for answer in answers}) == 1, "one key gave several turns"
        return self._keep(ledger, key, content, answers[0])

    async def begin_and_leave(self, ledger: SessionLedger, content: str, frames: int, *, cancels: bool) -> Accepted:
        """Read a few frames of a turn's own stream and go."""
        key = f"{ledger.name}-{len(ledger.accepted)}-{self._chance.randrange(1 << 60)}"
        body = {"content": content, "on_busy": "queue"}
        path = f"{ledger.path}/turns{'?on_disconnect=cancel' if cancels else ''}"
        try:
            async with self._http.stream("POST", path, json=body, headers={"Idempotency-Key": key}) as answer:
                if answer.status_code == 200:
                    async for _ in frames_of(answer):
                        frames -= 1
                        if frames <= 0:
                            break
        except httpx.TransportError:
            self.broken += 1
        return self._keep(ledger, key, content, await self.ask("POST", f"{ledger.path}/turns", key=key, body=body))

    def _keep(self, ledger: SessionLedger, key: str, content: str, answer: httpx.Response) -> Accepted:
        assert answer.status_code == 202, answer.text
        one = Accepted(key, content, answer.headers["location"].rpartition("/")[2])
        ledger.accepted.append(one)
        return one

    async def follow(self, ledger: SessionLedger, one: Accepted) -> None:
        """Follow a turn from its beginning to its end, over all cuts."""
        seen: list[int] = []
        end = time.monotonic() + STUCK_S
        while time.monotonic() < end:
            try:
                async with asyncio.timeout(STUCK_S), aclosing(self._stream(ledger, one, seen)) as stream:
                    async for frame in stream:
                        if frame.id is not None:
                            seen.append(frame.id)
                        if frame.event == "turn_finished":
                            one.seen = seen
                            return
            except httpx.TransportError:
                self.broken += 1
            except TimeoutError as error:
                raise Stuck(f"{ledger.path}/turns/{one.turn} has no end") from error
            await asyncio.sleep(_PAUSE_S)
        raise Stuck(f"{ledger.path}/turns/{one.turn} has no end")

    async def _stream(self, ledger: SessionLedger, one: Accepted, seen: list[int]) -> AsyncGenerator[Frame]:
        headers = {"Last-Event-ID": str(seen[-1])} if seen else {}
        path = f"{ledger.path}/turns/{one.turn}/events"
        async with self._http.stream("GET", path, headers=headers) as answer:
            assert answer.status_code in (200, 503), await answer.aread()
            async for frame in frames_of(answer):
                yield frame

    async def records(self, ledger: SessionLedger) -> list[JsonObject]:
        """Read a session's log."""
        records: list[JsonObject] = []
        while True:
            answer = await self.ask("GET", f"{ledger.path}/records?limit=200&after={len(records)}")
            assert answer.status_code == 200, answer.text
            page: list[JsonObject] = answer.json()["items"]
            if not page:
                return records
            records += page
