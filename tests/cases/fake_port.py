"""A tool port over HTTP that answers by a table and keeps what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from service.core.json_types import JsonObject, JsonValue
from tests.cases.http_fake import Exchange, HttpFake, OverHttp
from tests.fakes.tool_port import spec


@dataclass(frozen=True, slots=True)
class PortCall:
    """A call as it came."""

    key: str
    body: JsonObject = field(repr=False)

    @property
    def tool(self) -> str:
        return self.body["tool"]

    @property
    def arguments(self) -> JsonObject:
        return self.body["arguments"]


Answer = Callable[[PortCall], JsonObject | str | None]
"""Gives a whole answer, or the content of one that went well; None breaks the connection off."""

CLOCK = spec("clock")
_OPEN = {"type": "object"}


def open_spec(name: str, **other: object) -> JsonObject:
    """A tool that takes any object."""
    return {**spec(name, **other), "parameters": _OPEN}


class FakePort(OverHttp):
    """Lists tools and answers calls; those of the tools in `held` wait until `release` is set."""

    def __init__(self, *listed: JsonObject, answers: dict[str, Answer] | None = None) -> None:
        self._listed = list(listed) or [CLOCK]
        self._answers = answers or {}
        self._http = HttpFake(self._answer)
        self.calls: list[PortCall] = []
        self.held: set[str] = set()
        self.release = asyncio.Event()
        self.arrived = asyncio.Event()
        self.left = asyncio.Event()

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.method == "GET":
            await exchange.answer({"tools": self._listed})
            return
        call = PortCall(exchange.headers["idempotency-key"], json.loads(exchange.body.decode()))
        self.calls.append(call)
        if call.tool in self.held:
            self.arrived.set()
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                self.left.set()
                raise
        answer = self._answers.get(call.tool, lambda _: f"{call.tool} says ok")(call)
        if answer is None:
            exchange.reset()
            return
        whole: JsonValue = {"status": "result", "content": answer} if isinstance(answer, str) else answer
        await exchange.answer(whole)
