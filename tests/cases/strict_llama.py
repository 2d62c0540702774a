"""A llama-server over HTTP that plays replies, and refuses each prompt that the strictest template would refuse."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat

from service.core.baseline import TemplateProfile
from service.core.json_types import JsonObject
from tests.cases.http_fake import Exchange, HttpFake, OverHttp
from tests.cases.rendering import call_text, generated, render
from tests.cases.replies import Reply
from tests.cases.streaming import stream_reply
from tests.fakes.strict_prompt import MalformedPrompt, check_prompt

_PROFILE = TemplateProfile(hash="strict", tools=True, parallel=True)
_CAPS = {"supports_tools": True, "supports_tool_calls": True, "supports_parallel_tool_calls": True}
_ALWAYS = ("max_tokens", "stream", "cache_prompt", "return_progress", "stream_options", "parallel_tool_calls")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a completion: the raw body, and what it says."""

    raw: bytes
    body: JsonObject = field(repr=False)

    @property
    def messages(self) -> list[JsonObject]:
        return self.body["messages"]

    @property
    def conversation(self) -> str:
        return next(message["content"] for message in self.messages if message["role"] == "user")

    def member(self, name: str) -> bytes:
        """Give the bytes of one member of the body, as they were sent; empty when it is not there."""
        text, decoder = self.raw.decode(), json.JSONDecoder()
        at = 1
        while text[at - 1] != "}":
            key, at = decoder.raw_decode(text, at)
            _, end = decoder.raw_decode(text, at + 1)
            if key == name:
                return text[at + 1 : end].encode()
            at = end + 1
        return b""


_ANY = ""
Script = Reply | Callable[[Asked], Reply]


class StrictLlama(OverHttp):
    """Plays one reply for each request of a conversation, the last one again and again.

    A conversation is known by its first user message; those without a script of their own share the first one.
    `refusals` holds why requests were refused: a test that sees none of them has sent only well-formed prompts.
    """

    def __init__(
        self, *script: Script, context_tokens: int = 100_000, slots: int = 8, bytes_per_token: int = 4
    ) -> None:
        self.scripts: dict[str, Iterator[Script]] = {}
        self.play(_ANY, *script)
        self._context_tokens = context_tokens
        self._slots = slots
        self._free = asyncio.Semaphore(slots)
        self._bytes_per_token = bytes_per_token
        self._cache: dict[str, list[str]] = {}
        self._http = HttpFake(self._answer)
        self.asked: list[Asked] = []
        self.refusals: list[str] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.arrived = asyncio.Event()

    def play(self, conversation: str, *script: Script) -> None:
        """Play these in the conversation that begins with this message."""
        self.scripts[conversation] = chain(script, repeat(script[-1])) if script else iter(())

    def asked_in(self, conversation: str) -> list[Asked]:
        """Give the requests of one conversation."""
        return [asked for asked in self.asked if asked.conversation == conversation]

    async def _answer(self, exchange: Exchange) -> None:
        match exchange.path.partition("?")[0].removeprefix("/v1"):
            case "/health":
                await exchange.answer({"status": "ok"})
            case "/props":
                await exchange.answer(self._props())
            case "/slots":
                await exchange.answer([self._slot(number) for number in range(self._slots)])
            case "/apply-template":
                await exchange.answer({"prompt": render(json.loads(exchange.body))})
            case "/chat/completions/input_tokens":
                size = self._tokens(render(json.loads(exchange.body)))
                await exchange.answer({"input_tokens": size, "object": "response.input_tokens"})
            case "/chat/completions/control":
                await exchange.answer({"success": False, "message": "no active completion for this id"})
            case "/chat/completions":
                await self._complete(exchange)
            case _:
                await exchange.answer({"error": {"code": 404, "message": "File Not Found"}}, 404)

    def _props(self) -> JsonObject:
        return {
            "default_generation_settings": {"n_ctx": self._context_tokens},
            "total_slots": self._slots,
            "model_alias": "fake",
            "chat_template": "{{ messages }}",
            "chat_template_caps": _CAPS,
            "build_info": "fake",
        }

    def _slot(self, number: int) -> JsonObject:
        slot: JsonObject = {"id": number, "n_ctx": self._context_tokens, "is_processing": number < self.in_flight}
        if self.asked and number == 0:
            slot["id_task"] = len(self.asked) - 1
        return slot

    def _tokens(self, text: str) -> int:
        return len(text.encode()) // self._bytes_per_token + 1

    async def _complete(self, exchange: Exchange) -> None:
        asked = Asked(exchange.body, {})
        try:
            asked = Asked(exchange.body, _strictly_read(exchange))
            self.asked.append(asked)
            self.arrived.set()
            check_prompt(asked.messages, _PROFILE)
        except MalformedPrompt as fault:
            self.refusals.append(str(fault))
            await exchange.answer(_error(400, str(fault), "invalid_request_error"), 400)
            return
        async with self._free:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            try:
                await self._play(exchange, asked)
            finally:
                self.in_flight -= 1

    async def _play(self, exchange: Exchange, asked: Asked) -> None:
        prompt = render(asked.body)
        size = self._tokens(prompt)
        if size >= self._context_tokens:
            told = f"request ({size} tokens) exceeds the available context size ({self._context_tokens} tokens)"
            error = _error(400, told, "exceed_context_size_error")
            error["error"] |= {"n_prompt_tokens": size, "n_ctx": self._context_tokens}
            await exchange.answer(error, 400)
            return
        script = next(self.scripts.get(asked.conversation, self.scripts[_ANY]), None)
        if script is None:
            self.refusals.append("the script has no further completion")
            await exchange.answer(_error(400, self.refusals[-1], "invalid_request_error"), 400)
            return
        reply = script if isinstance(script, Reply) else script(asked)
        if reply.status != 200:
            await exchange.answer({"error": reply.error}, reply.status)
            return
        kept = self._cache.setdefault(asked.conversation, [])
        cached = max((_common(prompt, earlier) for earlier in kept), default=0)
        completion = generated(reply)
        kept.append(prompt + completion)
        counts = (size, self._tokens(prompt[:cached]) - 1, self._tokens(completion))
        await stream_reply(exchange, reply, len(self.asked), counts, self._context_tokens)


def _error(code: int, message: str, kind: str) -> JsonObject:
    return {"error": {"code": code, "message": message, "type": kind}}


def _strictly_read(exchange: Exchange) -> JsonObject:
    try:
        body: JsonObject = json.loads(exchange.body.decode())
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise MalformedPrompt(f"the body is no JSON in UTF-8: {error}") from error
    missing = [name for name in _ALWAYS if not body.get(name)]
    if missing or "x-conversation-id" in exchange.headers:
        raise MalformedPrompt(f"not as each request should be: {missing}")
    for message in body["messages"]:
        for call in message.get("tool_calls", []):
            call_text(call)
    return body


def _common(one: str, other: str) -> int:
    """Count the characters that two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
