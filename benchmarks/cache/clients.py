"""Who has the conversations: the service, or a client that builds its prompts itself. Above: `run`. Below: HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

import httpx

from benchmarks.cache.counting import Served
from benchmarks.cache.model_server import Model
from benchmarks.cache.prompts import Prompt
from benchmarks.overhead.failures import MeasurementFailed
from service.core.json_types import JsonObject

MAX_TOKENS = 16


class Talker(Protocol):
    """One conversation."""

    async def say(self, question: str) -> Sequence[Served]:
        """Say something, and give what the completions took that answered it."""
        ...


class OwnPrompts:
    """A client of llama-server that keeps the messages and builds each prompt anew."""

    def __init__(self, model: Model, prompt: Prompt, system: str) -> None:
        self._model = model
        self._prompt = prompt
        self._system = system
        self._messages: list[JsonObject] = []
        self._turn = 0

    async def say(self, question: str) -> Sequence[Served]:
        """Ask with the whole prompt, as the client builds it."""
        self._messages.append({"role": "user", "content": question})
        prompt = self._prompt(self._system, self._messages, self._turn)
        known = await self._model.count(prompt[:-1]) if self._turn else 0
        reply = await self._model.answer(prompt, max_tokens=MAX_TOKENS)
        self._messages.append({"role": "assistant", "content": reply.text})
        self._turn += 1
        return [Served(prompt=reply.prompt_tokens, cached=reply.cached_tokens, known=known)]


class ThroughService:
    """A client of the service: it sends what is new, and the service keeps the rest."""

    def __init__(self, http: httpx.AsyncClient, service_url: str, model: Model, system: str) -> None:
        self._http = http
        self._url = service_url
        self._model = model
        self._system = system
        self._session = ""
        self._last_seq = 0

    async def say(self, question: str) -> Sequence[Served]:
        """Run a turn; what its completions took stands in its `usage` records."""
        known = await self._known() if self._session else await self._begin()
        path = f"/sessions/{self._session}"
        await self._ask("POST", f"{path}/turns", {"content": question})
        records = (await self._ask("GET", f"{path}/records?after={self._last_seq}"))["items"]
        self._last_seq = records[-1]["seq"]
        if records[-1].get("outcome") != "answered":
            raise MeasurementFailed(f"a turn ended otherwise than with an answer: {records[-1]}")
        used = [record for record in records if record["type"] == "usage"]
        return [Served(prompt=one["prompt_tokens"], cached=one["cached_tokens"], known=known) for one in used]

    async def _begin(self) -> int:
        asked: JsonObject = {
            "system": self._system,
            "sampling": {"temperature": 0, "seed": 1},
            "limits": {"max_tokens": MAX_TOKENS, "thinking_tokens": 0},
        }
        self._session = (await self._ask("POST", "/sessions", asked))["id"]
        return 0

    async def _known(self) -> int:
        return await self._model.count((await self._ask("GET", f"/sessions/{self._session}/messages"))["messages"])

    async def _ask(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        headers = {"Accept": "application/json"}
        answer = await self._http.request(method, f"{self._url}{path}", json=body, headers=headers)
        if not answer.is_success:
            raise MeasurementFailed(f"the service answered {path} with {answer.status_code}: {answer.text[:500]}")
        return cast(JsonObject, answer.json())
