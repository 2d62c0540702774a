"""A model server and a tool port that refuse us, and say our own secrets back to us in doing so.

Above: the tests. Below: the fakes of `tests/cases`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from service.core.json_types import JsonObject
from tests.cases.fake_port import open_spec
from tests.cases.http_fake import Exchange, HttpFake, OverHttp
from tests.cases.replies import Reply, say
from tests.cases.streaming import stream_reply
from tests.cases.strict_llama import StrictLlama

Refuse = Callable[[Exchange, str], Awaitable[None]]
"""Answers a request in which we were presented this."""


async def as_json(exchange: Exchange, presented: str) -> None:
    """As llama-server says it, with a word too many."""
    error: JsonObject = {"code": 401, "message": f"Invalid API Key: {presented}", "type": "authentication_error"}
    await exchange.answer({"error": error}, 401)


async def as_text(exchange: Exchange, presented: str) -> None:
    """As a proxy in front of it may."""
    await exchange.answer(f"<h1>403 Forbidden</h1> authorization: {presented}".encode(), 403)


async def in_another_form(exchange: Exchange, presented: str) -> None:
    """JSON in a text, as a gateway may wrap it."""
    await exchange.answer(json.dumps({"detail": json.dumps({"authorization": presented})}).encode(), 500)


async def in_mid_stream(exchange: Exchange, presented: str) -> None:
    """As an error behind some words of an answer."""
    error: JsonObject = {"code": 500, "message": f"worker lost, request had {presented}", "type": "server_error"}
    await stream_reply(exchange, say("Some words", error=error), 1, (10, 0, 2), 100_000)


async def as_another_kind_of_answer(exchange: Exchange, presented: str) -> None:
    """As the type of an answer that is no stream."""
    kind = presented.replace("\\", "")
    await exchange.raw(f"HTTP/1.1 200 OK\r\nContent-Type: text/{kind}\r\nContent-Length: 2\r\n\r\n{{}}".encode())


class EchoingLlama(StrictLlama):
    """Refuses each completion; with `all_else` also each question about itself."""

    def __init__(self, refuse: Refuse, *, all_else: bool = False) -> None:
        super().__init__(Reply())
        self.refuse = refuse
        self.all_else = all_else
        self.presented: set[str] = set()

    async def _answer(self, exchange: Exchange) -> None:
        presented = exchange.headers.get("authorization", "")
        self.presented.add(presented)
        if self.all_else or exchange.path.endswith("/chat/completions"):
            await self.refuse(exchange, presented)
        else:
            await super()._answer(exchange)


class EchoingPort(OverHttp):
    """Answers each call by the tool's name, with all the headers that it came with."""

    def __init__(self) -> None:
        self._http = HttpFake(self._answer)
        self.presented: set[str] = set()

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.method == "GET":
            await exchange.answer({"tools": [open_spec(name) for name in ("fail", "deny", "ask", "tell", "refuse")]})
            return
        headers = json.dumps(exchange.headers)
        self.presented.add(exchange.headers.get("authorization", ""))
        answers: dict[str, JsonObject] = {
            "fail": {"status": "failed", "message": f"not for {headers}"},
            "deny": {"status": "denied", "reason": f"not for {headers}"},
            "ask": {"status": "pending_approval", "reason": headers},
            "tell": {"status": "result", "content": {"headers": exchange.headers}},
        }
        tool = json.loads(exchange.body)["tool"]
        if tool == "refuse":
            await exchange.answer(headers.encode(), 401)
        else:
            await exchange.answer(answers[tool])
