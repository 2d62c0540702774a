"""What `turnkeeper doctor` is let loose on: a model server and a tool port whose answers a test changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from service.bootstrap.examination import examined
from service.config import Settings, load_settings
from service.core.diagnosis.findings import Code, Finding
from service.core.json_types import JsonObject, JsonValue
from service.ports import Clock
from tests.cases.http_fake import Exchange, HttpFake, OverHttp
from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cli.stored_logs import url_of

KEPT_FREE = 256
PATIENCE_S = 20
NOWHERE = "http://127.0.0.1:9"

Told = tuple[int, JsonValue | bytes]
HANGS = None
"""In place of an answer: the connection stays open and silent."""

METRICS = b"llamacpp:prompt_tokens_total 1000\nllamacpp:prompt_seconds_total 4\n"


class ToldLlama(StrictLlama):
    """A llama-server that is as it should be, but for the answers at the paths in `told`."""

    def __init__(
        self, told: dict[str, Told | None] | None = None, *, slots: int = 2, context_tokens: int = 8192
    ) -> None:
        super().__init__(say("Yes."), slots=slots, context_tokens=context_tokens)
        self.told: dict[str, Told | None] = {
            "/metrics": (200, METRICS),
            "/v1/models": (200, {"data": [{"id": "fake", "meta": {"n_ctx_train": 32768}}]}),
            **(told or {}),
        }
        self.paths: list[str] = []
        self.addresses: list[str] = []
        """The paths with their queries."""

    async def _answer(self, exchange: Exchange) -> None:
        path = exchange.path.partition("?")[0]
        self.paths.append(path)
        self.addresses.append(exchange.path)
        if path not in self.told:
            await super()._answer(exchange)
            return
        told = self.told[path]
        if told is None:
            await asyncio.Event().wait()
        else:
            await exchange.answer(told[1], told[0])


class ToldPort(OverHttp):
    """A tool port that answers `GET /tools` with what `answer` gives; None keeps the connection silent."""

    def __init__(self, answer: Callable[[], Told | None], *, date: str = "") -> None:
        self._tell = answer
        self._date = date
        self._http = HttpFake(self._answer)

    async def _answer(self, exchange: Exchange) -> None:
        told = self._tell()
        if told is None:
            await asyncio.Event().wait()
        elif self._date:
            head = f"HTTP/1.1 {told[0]} Status\r\nDate: {self._date}\r\nConnection: close\r\nContent-Length: 13\r\n\r\n"
            await exchange.raw(head.encode() + b'{"tools": []}')
        else:
            await exchange.answer(told[1], told[0])


def tools(*listed: JsonObject) -> Told:
    """The answer of a port that lists these tools."""
    return 200, {"tools": list(listed)}


def settings_of(folder: Path, **given: Any) -> Settings:
    """The settings of a service whose store is in this folder, and that listens nowhere that is known."""
    return load_settings(**{"database_url": url_of(folder / "store.db"), "port": 0, "answer_ms": 5000, **given})


async def examine_with(folder: Path, *, probe: bool = False, clock: Clock | None = None, **given: Any) -> list[Finding]:
    """Look at all, in this loop."""
    async with asyncio.timeout(PATIENCE_S):
        settings = await asyncio.to_thread(settings_of, folder, **given)
        return list(await examined(settings, kept_free=KEPT_FREE, probe=probe, clock=clock))


def codes(findings: Sequence[Finding]) -> set[Code]:
    return {finding.code for finding in findings}


def said(code: Code, findings: Sequence[Finding]) -> str:
    """What a finding says; it must be there once."""
    (finding,) = [finding for finding in findings if finding.code is code]
    return finding.says
