"""`LlamaHttp`: one llama-server as the loop needs it (L1, L2, L3, L4, L8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass

import httpx

from service.adapters.llama.answers import json_object, refusal_text, whole_body
from service.adapters.llama.connection import LlamaClient
from service.adapters.llama.exchange import Exchange, FirstBytes
from service.adapters.llama.facts import Templates
from service.adapters.llama.failures import NETWORK_ERRORS, failure_of_request
from service.adapters.llama.head import wait_for_head
from service.adapters.llama.request import completion_body, encode, template_body, text_body
from service.adapters.llama.slots import Slots
from service.adapters.llama.slots_poller import SlotsPoller
from service.adapters.llama.stream_reading import StreamReading
from service.adapters.llama.token_list import listed_tokens
from service.core.completion_events import Completion, CompletionDelta, StillWaiting
from service.core.completion_request import CompletionRequest
from service.core.completion_stream import CompletionStream
from service.core.errors import ErrorKind, ModelFailure
from service.core.head_wait import HeadWait
from service.core.json_types import JsonObject
from service.core.server_error import failure_of_status, token_count
from service.core.slot_state import SlotState
from service.core.stream_patience import StreamPatience
from service.ports import ServerFacts, Take

_OK = 200
_LOADING = 503
_COMPLETIONS = "v1/chat/completions"
_CONTROL = "v1/chat/completions/control"
_COUNT_TOKENS = "v1/chat/completions/input_tokens"
_TOKENIZE = "tokenize"
# English is about four bytes to a token; used only where the server never tells a prompt's size.
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaTimes:
    """How long to wait, in milliseconds; there is no total deadline anywhere (DESIGN section 6).

    `poll_ms` lies between two looks at the slots, and bounds the answer to one; `answer_ms` bounds the other short
    questions: `/health`, `/props`, the templates, token counts.
    """

    poll_ms: int = 2_000
    busy_wait_ms: int = 600_000
    load_wait_ms: int = 300_000
    idle_grace_ms: int = 30_000
    liveness_ms: int = 90_000
    progress_ms: int = 600_000
    answer_ms: int = 10_000


class LlamaHttp:
    """The port `Llama` over HTTP; the client is built and closed by whoever hands it in.

    `model` is the name that a router needs in each request, to know whose slots, template or tokens are asked for.
    """

    def __init__(
        self,
        client: LlamaClient,
        times: LlamaTimes | None = None,
        *,
        model: str | None = None,
        max_error_body: int = 64 * 1024,
    ) -> None:
        self._client = client
        self._times = times or LlamaTimes()
        self._named: dict[str, str] = {} if model is None else {"model": model}
        self._max_error_body = max_error_body
        self._address = str(client.base_url).rstrip("/")
        self._templates = Templates(self._ask)
        self._slots = Slots(client, model=model, answer_ms=self._times.poll_ms)
        self._poller = SlotsPoller(self._slots.look, poll_ms=self._times.poll_ms)

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        """Ask for one completion; see the port."""
        body = completion_body(request)
        stream = CompletionStream(
            thinking_budget_tokens=request.thinking_budget_tokens,
            prompt_estimate=len(body) // _BYTES_PER_TOKEN,
            logprobs=request.logprobs,
        )
        with self._masked_failures():
            async with aclosing(self._wait_for_head(body)) as head:
                while isinstance(told := await anext(head), StillWaiting):
                    yield (told,)
            answer = told
            try:
                if answer.status != _OK:
                    raise await self._refusal(answer.status, answer, answer.header(b"content-encoding"))
                patience = StreamPatience(liveness_ms=self._times.liveness_ms, progress_ms=self._times.progress_ms)
                pulled: list[CompletionDelta] = []

                def pull(deltas: Sequence[CompletionDelta]) -> bool:
                    pulled.extend(deltas)
                    return False

                with closing(StreamReading(answer, patience, self._poller)) as reading:
                    is_read = False
                    while not (is_read or stream.is_over):
                        try:
                            is_read = await reading.push(stream, take or pull)
                        except ModelFailure as failure:
                            stream.fail(failure)
                        if pulled or not (is_read or stream.is_over):
                            yield tuple(pulled)
                            pulled.clear()
            finally:
                # The closed connection is what stops the server (L8).
                answer.close()
            if held_back := stream.release():
                yield tuple(held_back)
            if not stream.has_events:
                _check_content_type(answer)
            yield stream.finish()

    async def facts(self) -> ServerFacts:
        """Ask `/props`, and probe a template that is not known yet; see the port."""
        return await self._templates.facts(await self._ask("GET", "props"))

    async def end_thought(self, completion_id: str) -> bool:
        """Have the server end a thought; see the port."""
        answer = await self._ask("POST", _CONTROL, {"id": completion_id, "action": "reasoning_end"})
        return answer.get("success") is True

    async def slots(self) -> Sequence[SlotState]:
        """Ask `/slots`; see the port."""
        return await self._slots.states()

    async def count_tokens(self, request: CompletionRequest) -> int:
        """Count the prompt's tokens; see the port."""
        answer = await self._ask("POST", _COUNT_TOKENS, completion_body(request))
        count = token_count(answer.get("input_tokens"))
        if count is None:
            raise ModelFailure(ErrorKind.PROTOCOL, "llama-server counted tokens without telling input_tokens")
        return count

    async def count_text(self, text: str) -> int:
        """Count a text's tokens; see the port."""
        count = listed_tokens(await self._answer("POST", _TOKENIZE, text_body(text)))
        if count is None:
            raise ModelFailure(ErrorKind.PROTOCOL, "llama-server answered /tokenize without a list of tokens")
        return count

    async def render(self, request: CompletionRequest) -> str:
        """Have the server render a prompt; see the port."""
        answer = await self._ask("POST", "apply-template", template_body(request))
        prompt = answer.get("prompt")
        if not isinstance(prompt, str):
            raise ModelFailure(ErrorKind.PROTOCOL, "llama-server rendered a prompt without telling it")
        return prompt

    async def check(self) -> None:
        """Ask `/health`; see the port."""
        await self._ask("GET", "health")

    def _wait_for_head(self, body: bytes) -> AsyncGenerator[StillWaiting | Exchange]:
        times = self._times
        wait = HeadWait(
            busy_wait_ms=times.busy_wait_ms, load_wait_ms=times.load_wait_ms, idle_grace_ms=times.idle_grace_ms
        )
        heard = FirstBytes()
        return wait_for_head(self._head(body, heard), heard, wait, self._poller, poll_ms=times.poll_ms)

    async def _head(self, body: bytes, heard: FirstBytes) -> Exchange:
        """Send a completion request; its head comes when a slot takes it, however long that may be (L2)."""
        try:
            return await self._client.post_json(_COMPLETIONS, body, heard)
        except NETWORK_ERRORS as error:
            self._templates.server_was_away()
            raise failure_of_request(error, self._address) from error

    async def _refusal(self, status: int, chunks: AsyncIterator[bytes], content_encoding: str) -> ModelFailure:
        """Read what a status other than 200 says (L3)."""
        if status == _LOADING:
            self._templates.server_was_away()
        text = await refusal_text(
            chunks, content_encoding, max_bytes=self._max_error_body, within_s=self._times.answer_ms / 1000
        )
        return failure_of_status(status, self._client.without_secrets(text))

    async def _ask(self, method: str, path: str, body: JsonObject | bytes | None = None) -> JsonObject:
        """Ask a short question and give the answer's object."""
        return json_object(await self._answer(method, path, body), path)

    async def _answer(self, method: str, path: str, body: JsonObject | bytes | None = None) -> bytes:
        """Ask a short question and give the answer's bytes."""
        request = self._request(method, path, encode(self._named | body) if isinstance(body, dict) else body)
        try:
            async with asyncio.timeout(self._times.answer_ms / 1000):
                response = await self._client.send(request, stream=True)
                try:
                    if response.status_code != _OK:
                        encoding = response.headers.get("Content-Encoding", "")
                        raise await self._refusal(response.status_code, response.aiter_raw(), encoding)
                    return await whole_body(response)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            said = f"llama-server at {self._address} did not answer within {self._times.answer_ms / 1000:g} s"
            raise ModelFailure(ErrorKind.CONNECT, said) from error
        except NETWORK_ERRORS as error:
            self._templates.server_was_away()
            raise failure_of_request(error, self._address) from error

    @contextmanager
    def _masked_failures(self) -> Generator[None]:
        """Take our secrets out of what is told of a failure, also in mid-stream or of a wrong content type (K5)."""
        try:
            yield
        except ModelFailure as failure:
            failure.message = self._client.without_secrets(failure.message)
            failure.args = (failure.message,)
            raise

    def _request(self, method: str, path: str, body: bytes | None) -> httpx.Request:
        if body is None:
            return self._client.build_request(method, path, params=self._named)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        return self._client.build_request(method, path, content=body, headers=headers)


def _check_content_type(answer: Exchange) -> None:
    found = answer.header(b"content-type")
    if found and not found.startswith("text/event-stream"):
        said = f"the answer was {found[:100]}, not a stream of events: is this the address of a llama-server?"
        raise ModelFailure(ErrorKind.PROTOCOL, said)
