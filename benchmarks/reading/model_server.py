"""llama-server as the rivals use it: one prompt, one answer, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

import httpx

from benchmarks.reading.failures import AttemptFailed, BenchmarkFailed
from benchmarks.reading.http_answers import json_object, words_of
from benchmarks.reading.spent import Meter, Spent
from service.core.json_types import JsonObject

_FACTS_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """The model by its name, and the tokens that one slot holds."""

    model: str
    context_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the model wrote, and whether it was cut by its bound on tokens."""

    text: str
    cut: bool
    spent: Spent


class ModelServer:
    """Asks a llama-server directly, always with temperature 0 and the same seed."""

    def __init__(self, http: httpx.AsyncClient, url: str, *, seed: int = 1) -> None:
        self._http = http
        self._url = url.rstrip("/")
        self._seed = seed

    async def facts(self) -> ServerFacts:
        """Ask what is served.

        Raises:
            BenchmarkFailed: nobody answers at this address, or no llama-server.
        """
        try:
            answer = await self._http.get(f"{self._url}/props", timeout=_FACTS_S)
            props = answer.raise_for_status().json()
            context = int(props["default_generation_settings"]["n_ctx"])
            # Of a path only the name: where a model lies is nobody's business.
            model = PurePath(str(props.get("model_alias") or props.get("model_path", ""))).name
        except httpx.HTTPError as error:
            raise BenchmarkFailed(f"no llama-server answers at {self._url}: {words_of(error)}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BenchmarkFailed(f"what answers at {self._url} is no llama-server: {error!r}") from error
        return ServerFacts(model=model or "unknown", context_tokens=context)

    async def count(self, text: str) -> int:
        """Return the number of tokens of a text.

        Raises:
            AttemptFailed: the server doesn't say.
        """
        answer = await self._post("/tokenize", {"content": text, "parse_special": False})
        try:
            return len(answer["tokens"])
        except (KeyError, TypeError) as error:
            raise AttemptFailed("/tokenize answered without tokens") from error

    async def prompt_tokens(self, prompt: str) -> int:
        """Return the number of tokens of a prompt with all that the chat template adds.

        Raises:
            AttemptFailed: the server doesn't say.
        """
        answer = await self._post("/v1/chat/completions/input_tokens", {"messages": _messages(prompt)})
        return _number(answer, "input_tokens")

    async def complete(self, prompt: str, max_tokens: int, meter: Meter) -> Completion:
        """Ask once.

        Raises:
            AttemptFailed: the server refuses, breaks off, or answers in no known form.
        """
        body = {
            "messages": _messages(prompt),
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": self._seed,
            "cache_prompt": True,
        }
        completion = _completion(await self._post("/v1/chat/completions", body))
        meter.add(completion.spent)
        return completion

    async def _post(self, path: str, body: JsonObject) -> JsonObject:
        try:
            answer = await self._http.post(f"{self._url}{path}", json=body)
        except httpx.HTTPError as error:
            raise AttemptFailed(f"{path}: {words_of(error)}") from error
        return json_object(answer, path)


def _messages(prompt: str) -> list[JsonObject]:
    return [{"role": "user", "content": prompt}]


def _completion(answer: JsonObject) -> Completion:
    try:
        choice = answer["choices"][0]
        text, reason = choice["message"]["content"] or "", choice["finish_reason"]
        usage: JsonObject = answer["usage"]
    except (KeyError, IndexError, TypeError) as error:
        raise AttemptFailed(f"the completion has an unknown form: {error!r}") from error
    timings: JsonObject = answer.get("timings") or {}
    prompt = _number(usage, "prompt_tokens")
    cached = _number(timings, "cache_n") if "cache_n" in timings else _cached_of_usage(usage)
    spent = Spent(
        calls=1,
        evaluated_tokens=prompt - cached,
        cached_tokens=cached,
        output_tokens=_number(usage, "completion_tokens"),
    )
    return Completion(text=str(text).strip(), cut=reason == "length", spent=spent)


def _cached_of_usage(usage: JsonObject) -> int:
    details: JsonObject = usage.get("prompt_tokens_details") or {}
    return _number(details, "cached_tokens") if "cached_tokens" in details else 0


def _number(values: JsonObject, name: str) -> int:
    value = values.get(name)
    if type(value) is not int:
        raise AttemptFailed(f"the server did not say {name}")
    return value
