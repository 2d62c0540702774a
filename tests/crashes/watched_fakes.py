"""The fake model server and tool port of `tests/cases`, which tell each moment of an exchange."""

from __future__ import annotations

import asyncio
import json

from service.core.json_types import JsonObject, JsonValue
from tests.cases.fake_port import Answer, FakePort, open_spec
from tests.cases.http_fake import Exchange
from tests.cases.strict_llama import StrictLlama
from tests.crashes.kill_points import Moments

LONG_TEXT = "".join(f"Line {number} of a very long result.\n" for number in range(2_000))

CHARGE = open_spec("charge")
LOOK = open_spec("look", idempotent=True)
READ_LONG = open_spec("read_long", idempotent=True)
IDEMPOTENT = frozenset({"look", "read_long"})

_PIECE_S = 0.002


class WatchedExchange(Exchange):
    """An exchange that tells its moments under a name."""

    def __init__(self, whole: Exchange, moments: Moments, name: str) -> None:
        super().__init__(whole.method, whole.path, whole.headers, whole.body, whole._writer)
        self._moments = moments
        self._name = name

    async def answer(self, value: JsonValue | bytes, status: int = 200) -> None:
        await self._moments.passed(f"{self._name}: asked")
        await super().answer(value, status)
        await self._moments.passed(f"{self._name}: answered")

    async def begin_stream(self) -> None:
        await self._moments.passed(f"{self._name}: asked")
        await super().begin_stream()
        await self._moments.passed(f"{self._name}: head")

    async def chunk(self, data: bytes) -> None:
        # Slowly enough for the service to show each piece by itself.
        await asyncio.sleep(_PIECE_S)
        await super().chunk(data)
        await self._moments.passed(f"{self._name}: {'piece' if data else 'end'}")


class WatchedLlama(StrictLlama):
    """A strict model server that tells when it is asked, and each piece that it has sent."""

    def __init__(self, moments: Moments) -> None:
        super().__init__()
        self._moments = moments

    async def _answer(self, exchange: Exchange) -> None:
        path = exchange.path.removeprefix("/v1")
        if path == "/chat/completions":
            exchange = WatchedExchange(exchange, self._moments, "model")
        elif path == "/chat/completions/input_tokens":
            exchange = WatchedExchange(exchange, self._moments, "count")
        await super()._answer(exchange)


class WatchedPort(FakePort):
    """A tool port with a tool that must not run twice and two that may, which tells when a call came and went."""

    def __init__(self, moments: Moments) -> None:
        answers: dict[str, Answer] = {"read_long": lambda _: LONG_TEXT}
        super().__init__(CHARGE, LOOK, READ_LONG, answers=answers)
        self._moments = moments

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.method == "POST":
            body: JsonObject = json.loads(exchange.body)
            exchange = WatchedExchange(exchange, self._moments, f"port {body['tool']}")
        await super()._answer(exchange)
