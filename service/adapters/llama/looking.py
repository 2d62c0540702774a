"""A look at llama-server for `turnkeeper doctor`: what it is, and how it was started. Nothing is generated.

Above: `bootstrap`. Below: the client. What the answers mean for a person is the core's business.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

import httpx

from service.adapters.llama.answers import whole_body
from service.adapters.llama.connection import LlamaClient
from service.adapters.llama.facts import read_props
from service.adapters.llama.failures import NETWORK_ERRORS, failure_of_request
from service.adapters.llama.request import encode
from service.core.diagnosis.model_server_facts import LlamaFacts, Reach, sharing_of
from service.core.errors import ErrorKind, ModelFailure
from service.core.json_types import JsonObject, JsonValue
from service.core.server_error import token_count
from service.core.slot_state import SlotState, read_slot_states

_OK = 200
_LOADING = 503
_REFUSED = (401, 403)
_UNKNOWN_THOUGHT = {"id": "chatcmpl-doctor", "action": "reasoning_end"}
_COUNTED = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
_SAMPLE = re.compile(rb"^llamacpp:(prompt_tokens_total|prompt_seconds_total)(?:\{[^}]*\})? ([0-9.e+]+)", re.MULTILINE)
# A few prompts tell nothing of how fast a server is.
_LEAST_TOKENS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of any status; `date` is its header, empty where there is none."""

    status: int
    content: bytes = b""
    date: str = ""

    @property
    def json(self) -> JsonValue:
        """What it says as JSON; None where it is none."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            return None

    @property
    def members(self) -> JsonObject:
        """Its members, none where it is no object."""
        said = self.json
        return cast(JsonObject, said) if isinstance(said, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaSight:
    """What a look showed: facts for the findings, the states of the slots, and the header `Date` of an answer."""

    facts: LlamaFacts
    slots: tuple[SlotState, ...] = ()
    date: str = ""


class NotInTime(Exception):
    """An answer did not come in its time."""


@dataclass(slots=True)
class LlamaLook:
    """Asks one server; each question is bounded by `answer_s`, and names the `model`, which a router needs."""

    client: LlamaClient
    answer_s: float
    model: str | None = None
    _date: str = field(default="", init=False)

    async def look(self) -> LlamaSight:
        """Look at it, however it is."""
        address = str(self.client.base_url).rstrip("/")
        nothing = LlamaFacts(url=address, sends_key="Authorization" in self.client.headers)
        try:
            facts, slots = await self._looked(nothing)
        except NotInTime:
            said = f"no answer within {self.answer_s:g} s"
            return LlamaSight(facts=replace(nothing, reach=Reach.SILENT, said=said))
        except ModelFailure as failure:
            reach = Reach.AWAY if failure.kind is ErrorKind.CONNECT else Reach.SOMETHING_ELSE
            return LlamaSight(facts=replace(nothing, reach=reach, said=_reason(failure)), date=self._date)
        return LlamaSight(facts=facts, slots=slots, date=self._date)

    async def _looked(self, facts: LlamaFacts) -> tuple[LlamaFacts, tuple[SlotState, ...]]:
        for path in ("health", "props"):
            answer = await self.ask("GET", path)
            if answer.status == _LOADING:
                return replace(facts, reach=Reach.LOADING), ()
            if answer.status in _REFUSED:
                return replace(facts, reach=Reach.REFUSED, said=f"HTTP {answer.status}"), ()
        models = await self._models()
        is_router = answer.members.get("role") == "router" or any(isinstance(one.get("status"), dict) for one in models)
        if is_router and (self.model is None or answer.status != _OK):
            return replace(facts, reach=Reach.ROUTER, models=tuple(_ids(models))), ()
        if answer.status != _OK:
            said = f"/props answers with HTTP status {answer.status}"
            return replace(facts, reach=Reach.SOMETHING_ELSE, said=said), ()
        props = read_props(answer.json)
        is_asleep = answer.members.get("is_sleeping") is True
        facts = replace(
            facts,
            slots=props.slots,
            context_tokens=props.context_tokens,
            model=props.model,
            build=props.build,
            is_asleep=is_asleep,
            models=tuple(_ids(models)),
            trained_tokens=_trained(models),
        )
        return await self._more(facts)

    async def _more(self, facts: LlamaFacts) -> tuple[LlamaFacts, tuple[SlotState, ...]]:
        # To be asked for its slots wakes a server that sleeps.
        slots, metrics, control, count = await asyncio.gather(
            _nothing() if facts.is_asleep else self._tried("GET", "slots"),
            self._tried("GET", "metrics"),
            self._tried("POST", "v1/chat/completions/control", _UNKNOWN_THOUGHT),
            self._tried("POST", "v1/chat/completions/input_tokens", _COUNTED),
        )
        states = () if slots is None else read_slot_states(slots.json)
        facts = replace(
            facts,
            sharing=sharing_of(states),
            slots_status=_status(slots),
            metrics_status=_status(metrics),
            control_status=_status(control),
            count_status=_status(count),
            prompt_speed=None if metrics is None else speed_of(metrics.content),
        )
        return facts, states

    async def _models(self) -> list[JsonObject]:
        answer = await self._tried("GET", "v1/models")
        listed: JsonValue = None if answer is None else answer.members.get("data")
        if not isinstance(listed, list):
            return []
        return [cast(JsonObject, model) for model in cast(list[JsonValue], listed) if isinstance(model, dict)]

    async def _tried(self, method: str, path: str, body: JsonObject | None = None) -> Answer | None:
        """Ask what need not be answered."""
        try:
            return await self.ask(method, path, body)
        except (NotInTime, ModelFailure):
            return None

    async def ask(
        self, method: str, path: str, body: JsonObject | None = None, *, within_s: float | None = None
    ) -> Answer:
        """Ask, and give the answer whatever its status.

        Raises:
            NotInTime: nothing came in time.
            ModelFailure: nobody answers, or not in HTTP.
        """
        named: JsonObject = {} if self.model is None else {"model": self.model}
        content = None if body is None else encode(named | body)
        # The transport takes the head as it is, so a body needs its length.
        headers = {} if content is None else {"Content-Type": "application/json", "Content-Length": str(len(content))}
        query = named if content is None else {}
        request = self.client.build_request(method, path, content=content, headers=headers, params=query)
        try:
            async with asyncio.timeout(within_s or self.answer_s):
                response = await self.client.send(request, stream=True)
                try:
                    self._date = response.headers.get("Date", self._date)
                    return Answer(status=response.status_code, content=await whole_body(response))
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise NotInTime from error
        except NETWORK_ERRORS as error:
            if isinstance(error, httpx.ConnectTimeout):
                raise ModelFailure(ErrorKind.CONNECT, "(no connection in time)") from error
            raise failure_of_request(error, str(self.client.base_url).rstrip("/")) from error


async def _nothing() -> Answer:
    return Answer(status=_OK)


def speed_of(metrics: bytes) -> float | None:
    """Read from `/metrics` how many tokens of prompts a second were evaluated; None where too few were."""
    samples = {name: float(value) for name, value in cast(list[tuple[bytes, bytes]], _SAMPLE.findall(metrics))}
    tokens, seconds = samples.get(b"prompt_tokens_total", 0.0), samples.get(b"prompt_seconds_total", 0.0)
    return tokens / seconds if tokens >= _LEAST_TOKENS and seconds > 0 else None


def _status(answer: Answer | None) -> int | None:
    return None if answer is None else answer.status


def _ids(models: list[JsonObject]) -> Iterator[str]:
    for model in models:
        # A model answers to its aliases as well.
        aliases: JsonValue = model.get("aliases")
        for name in [model.get("id"), *(cast(list[JsonValue], aliases) if isinstance(aliases, list) else [])]:
            if isinstance(name, str):
                yield name


def _trained(models: list[JsonObject]) -> int | None:
    meta: JsonValue = models[0].get("meta") if len(models) == 1 else None
    return token_count(cast(JsonObject, meta).get("n_ctx_train")) if isinstance(meta, dict) else None


def _reason(failure: ModelFailure) -> str:
    """Take the reason of a refused connection out of its brackets: the address is said already."""
    found = re.search(r"\(([^)]*)\)", failure.message)
    return found[1] if failure.kind is ErrorKind.CONNECT and found is not None else failure.message
