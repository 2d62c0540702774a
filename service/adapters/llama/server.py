"""`LlamaHttp`: one llama-server as the loop needs it (L1, L3, L4, L8)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import httpx

from service.adapters.llama.facts import read_props, thinking_off, thinking_probe
from service.adapters.llama.failures import NETWORK_ERRORS, failure_of_request
from service.adapters.llama.request import completion_body, content, encode
from service.adapters.llama.stream_reading import next_chunk
from service.core.completion_events import Completion, CompletionDelta
from service.core.completion_request import CompletionRequest
from service.core.completion_stream import CompletionStream
from service.core.errors import ErrorKind, ModelFailure, UpstreamHttp
from service.core.json_types import JsonObject, JsonValue
from service.core.server_error import failure_of_status, token_count
from service.core.stream_patience import StreamPatience
from service.ports import ServerFacts

_OK = 200
_LOADING = 503
_COMPLETIONS = "v1/chat/completions"
_CONTROL = "v1/chat/completions/control"
_COUNT_TOKENS = "v1/chat/completions/input_tokens"
# A chat template is some ten kilobytes, a rendered probe less.
_MAX_ANSWER_BYTES = 8 * 1024 * 1024
# English is about four bytes to a token; used only where the server never tells a prompt's size.
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaTimes:
    """How long to wait, in milliseconds; there is no total deadline anywhere (DESIGN section 6).

    `answer_ms` bounds the short questions: `/health`, `/props`, the templates, token counts.
    """

    busy_wait_ms: int = 600_000
    liveness_ms: int = 90_000
    progress_ms: int = 600_000
    answer_ms: int = 10_000


class LlamaHttp:
    """The port `Llama` over HTTP; the client is built and closed by whoever hands it in."""

    def __init__(
        self, client: httpx.AsyncClient, times: LlamaTimes | None = None, *, max_error_body: int = 64 * 1024
    ) -> None:
        self._client = client
        self._times = times or LlamaTimes()
        self._max_error_body = max_error_body
        self._address = str(client.base_url).rstrip("/")

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        """Ask for one completion; see the port."""
        body = completion_body(request)
        stream = CompletionStream(
            thinking_budget_tokens=request.thinking_budget_tokens, prompt_estimate=len(body) // _BYTES_PER_TOKEN
        )
        response = await self._head(body)
        try:
            if response.status_code != _OK:
                raise await self._refusal(response)
            patience = StreamPatience(liveness_ms=self._times.liveness_ms, progress_ms=self._times.progress_ms)
            chunks = response.aiter_bytes()
            while not stream.is_over:
                try:
                    chunk = await next_chunk(chunks, patience, stream.advances)
                except ModelFailure as failure:
                    stream.fail(failure)
                    break
                if chunk is None:
                    break
                if deltas := stream.feed(chunk):
                    yield tuple(deltas)
        finally:
            # The closed connection is what stops the server (L8).
            await response.aclose()
        if held_back := stream.release():
            yield tuple(held_back)
        if not stream.has_events:
            _check_content_type(response)
        yield stream.finish()

    async def facts(self) -> ServerFacts:
        """Ask `/props`, and where the template changes when thinking is switched off; see the port."""
        facts = read_props(await self._ask("GET", "props"))
        system_role = facts.template.system_role
        try:
            on = await self._ask("POST", "apply-template", thinking_probe(system_role=system_role, thinking=True))
            off = await self._ask("POST", "apply-template", thinking_probe(system_role=system_role, thinking=False))
        except UpstreamHttp as refusal:
            if refusal.status == _LOADING:
                raise
            # A build without this endpoint, or a template that does not like the probe: nothing is promised.
            return facts
        return replace(facts, template=replace(facts.template, thinking_off=thinking_off(on, off)))

    async def end_thought(self, completion_id: str) -> bool:
        """Have the server end a thought; see the port."""
        answer = await self._ask("POST", _CONTROL, {"id": completion_id, "action": "reasoning_end"})
        return answer.get("success") is True

    async def count_tokens(self, request: CompletionRequest) -> int:
        """Count the prompt's tokens; see the port."""
        answer = await self._ask("POST", _COUNT_TOKENS, completion_body(request))
        count = token_count(answer.get("input_tokens"))
        if count is None:
            raise ModelFailure(ErrorKind.PROTOCOL, "llama-server counted tokens without telling input_tokens")
        return count

    async def check(self) -> None:
        """Ask `/health`; see the port."""
        await self._ask("GET", "health")

    async def _head(self, body: bytes) -> httpx.Response:
        """Send a completion request and wait for the head, which comes when a slot takes it."""
        request = self._request("POST", _COMPLETIONS, body)
        try:
            async with asyncio.timeout(self._times.busy_wait_ms / 1000):
                return await self._client.send(request, stream=True)
        except TimeoutError as error:
            waited = f"{self._times.busy_wait_ms / 1000:g} s (busy_wait_ms)"
            said = f"llama-server at {self._address} did not begin to answer within {waited}: its slots may all be busy"
            raise ModelFailure(ErrorKind.WAIT_TIMEOUT, said) from error
        except NETWORK_ERRORS as error:
            raise failure_of_request(error, self._address) from error

    async def _refusal(self, response: httpx.Response) -> ModelFailure:
        """Read what a status other than 200 says, as far as it comes and is allowed (L3)."""
        text = bytearray()
        with contextlib.suppress(TimeoutError, *NETWORK_ERRORS):
            async with asyncio.timeout(self._times.answer_ms / 1000):
                async for chunk in response.aiter_bytes():
                    text += chunk
                    if len(text) >= self._max_error_body:
                        break
        return failure_of_status(response.status_code, text[: self._max_error_body].decode("utf-8", "replace"))

    async def _ask(self, method: str, path: str, body: JsonObject | bytes | None = None) -> JsonObject:
        """Ask a short question and give the answer's object."""
        request = self._request(method, path, encode(body) if isinstance(body, dict) else body)
        try:
            async with asyncio.timeout(self._times.answer_ms / 1000):
                response = await self._client.send(request, stream=True)
                try:
                    if response.status_code != _OK:
                        raise await self._refusal(response)
                    text = await _whole_body(response)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            said = f"llama-server at {self._address} did not answer within {self._times.answer_ms / 1000:g} s"
            raise ModelFailure(ErrorKind.CONNECT, said) from error
        except NETWORK_ERRORS as error:
            raise failure_of_request(error, self._address) from error
        return _object(text, path)

    def _request(self, method: str, path: str, body: bytes | None) -> httpx.Request:
        if body is None:
            return self._client.build_request(method, path)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        return self._client.build_request(method, path, content=content(body), headers=headers)


async def _whole_body(response: httpx.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MAX_ANSWER_BYTES:
            raise ModelFailure(ErrorKind.PROTOCOL, f"llama-server answered with more than {_MAX_ANSWER_BYTES} bytes")
    return bytes(body)


def _object(text: bytes, path: str) -> JsonObject:
    try:
        answer: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise ModelFailure(ErrorKind.PROTOCOL, f"llama-server answered /{path} with something that is no JSON object")
    return cast(JsonObject, answer)


def _check_content_type(response: httpx.Response) -> None:
    found = response.headers.get("content-type", "")
    if found and not found.startswith("text/event-stream"):
        said = f"the answer was {found[:100]}, not a stream of events: is this the address of a llama-server?"
        raise ModelFailure(ErrorKind.PROTOCOL, said)
