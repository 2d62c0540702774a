"""A real llama-server with the demo's model: run anew for each subject, asked for answers and counts.

It runs as the demo's does, with as many slots and as large a context, but with the model's own chat template: that of
the demo shows an answer in other words than the model wrote. Above: the clients. Below: a process, HTTP.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import httpx

from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.startup.own_program import own_program
from service.cli.demo.plan import CONTEXT_TOKENS, SLOTS, packaged_model
from service.core.json_types import JsonObject

THREADS = 2
# Not given to the program, as in the demo: this is llama-server's own default.
CACHE_RAM_MIB = 8192
CONDITIONS = f"--cache-ram {CACHE_RAM_MIB}, the default"

_START_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer, and what llama-server says of it in tokens."""

    text: str
    prompt_tokens: int
    cached_tokens: int


@asynccontextmanager
async def model_server() -> AsyncGenerator[str]:
    """Run it; gives its address.

    Raises:
        MeasurementFailed: it isn't installed, or doesn't start.
    """
    model = packaged_model()
    if model is None:
        raise MeasurementFailed("the demo's llama-server is not installed")
    options = {"--model": str(model), "--parallel": SLOTS, "--ctx-size": CONTEXT_TOKENS, "--threads": THREADS}
    arguments = [str(part) for option in options.items() for part in option]
    program = (sys.executable, "-m", "service.cli.demo.llama_server")
    async with own_program(lambda port: (*program, *arguments, "--port", str(port)), within_s=_START_S) as url:
        yield url


class Model:
    """Asks a llama-server."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url

    async def answer(self, messages: Sequence[JsonObject], *, max_tokens: int) -> Reply:
        """Let the model answer, in no slot of the client's choice.

        Raises:
            MeasurementFailed: it doesn't.
        """
        asked = {"messages": list(messages), "max_tokens": max_tokens, "temperature": 0, "seed": 1}
        answer = await self._post("/v1/chat/completions", asked)
        return Reply(
            text=answer["choices"][0]["message"]["content"] or "",
            prompt_tokens=answer["usage"]["prompt_tokens"],
            cached_tokens=answer["timings"]["cache_n"],
        )

    async def count(self, messages: Sequence[JsonObject]) -> int:
        """Count the tokens of a prompt; an answer that stands last is left open, as it was when it was written.

        Raises:
            MeasurementFailed: the server doesn't say.
        """
        return (await self._post("/v1/chat/completions/input_tokens", {"messages": list(messages)}))["input_tokens"]

    async def _post(self, path: str, body: JsonObject) -> JsonObject:
        try:
            answer = await self._http.post(f"{self._url}{path}", json=body)
        except httpx.HTTPError as error:
            raise MeasurementFailed(f"llama-server, {path}: {error!r}") from error
        if answer.status_code != 200:
            raise MeasurementFailed(f"llama-server answered {path} with {answer.status_code}: {answer.text[:500]}")
        return cast(JsonObject, answer.json())
