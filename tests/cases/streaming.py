"""A completion's stream in llama-server's wire format, whole or broken off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

from service.core.json_types import JsonObject
from tests.cases.http_fake import Exchange
from tests.cases.replies import Reply


async def stream_reply(exchange: Exchange, reply: Reply, number: int, counts: tuple[int, int, int], room: int) -> None:
    if reply.cut_at == -1:
        exchange.reset()
        return
    await exchange.begin_stream()
    left = reply.cut_at
    for event in _events(reply, number, counts, room):
        data = event if left is None else event[:left]
        if data:
            await exchange.chunk(data)
        if left is not None:
            left -= len(event)
            if left <= 0:
                await _until_read()
                if reply.reset:
                    exchange.reset()
                return
        if reply.hold is not None and b'"delta":{' in event:
            await reply.hold.wait()
    await exchange.chunk(b"")


async def _until_read() -> None:
    # The client lives in the same loop: what was sent is read within a few of its rounds.
    for _ in range(50):
        await asyncio.sleep(0)


def stream_bytes(reply: Reply) -> int:
    """Count the bytes of a reply's whole stream."""
    return sum(map(len, _events(reply, 1, (10, 0, 10), 100_000)))


def place_of(reply: Reply, mark: bytes) -> int:
    """Find where in a reply's stream these bytes begin."""
    return b"".join(_events(reply, 1, (10, 0, 10), 100_000)).index(mark)


def _events(reply: Reply, number: int, counts: tuple[int, int, int], room: int) -> Iterator[bytes]:
    prompt, cached, completion = counts
    identity = {"id": f"chatcmpl-{number}", "created": 1, "model": "fake", "object": "chat.completion.chunk"}
    role = {"role": "assistant", "content": None}
    for processed in (cached, prompt):
        progress = {"total": prompt, "cache": cached, "processed": processed, "time_ms": 1}
        yield _event({**_choice(role), **identity, "prompt_progress": progress})
    yield _event({**_choice(role), **identity})
    for delta in reply.deltas:
        yield _event({**_choice(delta), **identity})
    if reply.error is not None:
        yield _event({"error": reply.error})
        return
    if reply.finish is not None:
        full = prompt + completion >= room
        yield _event({**_choice({}, "length" if full else reply.finish), **identity})
    if reply.usage:
        usage: JsonObject = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
        timings = {"cache_n": cached, "prompt_n": prompt - cached, "predicted_n": completion}
        yield _event({"choices": [], **identity, "usage": usage, "timings": timings})
    if reply.done:
        yield b"data: [DONE]\n\n"


def _choice(delta: JsonObject, reason: str | None = None) -> JsonObject:
    return {"choices": [{"finish_reason": reason, "index": 0, "delta": delta}]}


def _event(value: JsonObject) -> bytes:
    # As llama-server writes it: all but control characters, quotes and backslashes as they are.
    return f"data: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
