"""A llama-server that sends exactly the bytes that a test wants, over a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from service.adapters.llama import LlamaHttp, LlamaTimes, build_llama_client

BOUND_S = 10.0

Step = bytes | Callable[[], Awaitable[object]]
"""Bytes to send, or something to wait for before going on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ScriptedLlama:
    """Answers each connection by the next script, and closes it when the script is through.

    `arrived` is set with the first request; `left` as soon as a client closes its connection while its script runs.
    Looks at `/slots` have `looks`, `looked` and `look_left` in place of `requests`, `arrived` and `left`, and scripts
    of their own, of which the last one is for all that follow.
    """

    def __init__(self, scripts: Sequence[Sequence[Step]], slots: Sequence[Sequence[Step]]) -> None:
        self._scripts = list(scripts)
        self._slots = list(slots)
        self._connections: set[asyncio.Task[None]] = set()
        self._plays: set[asyncio.Task[None]] = set()
        self.requests: list[Received] = []
        self.looks: list[Received] = []
        self.looked = asyncio.Event()
        self.look_left = asyncio.Event()
        self.arrived = asyncio.Event()
        self.left = asyncio.Event()
        self.url = ""

    def add(self, script: Sequence[Step], *, slots: Sequence[Sequence[Step]] | None = None) -> None:
        """Add a script that waits for something of the server's own."""
        self._scripts.append(script)
        if slots is not None:
            self._slots = list(slots)

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a new connection."""
        task = asyncio.create_task(self._serve(reader, writer), name="connection")
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def close(self) -> None:
        """End the scripts that still run, and wait until their connections are gone."""
        for task in self._plays:
            task.cancel()
        await asyncio.gather(*self._connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            request = await _read_request(reader)
            if request.line.startswith("GET /slots"):
                self.looks.append(request)
                self.looked.set()
                script = self._slots.pop(0) if len(self._slots) > 1 else self._slots[0]
                left = self.look_left
            else:
                self.requests.append(request)
                self.arrived.set()
                script = self._scripts.pop(0)
                left = self.left
            if await self._play(script, reader, writer):
                left.set()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _play(self, script: Sequence[Step], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Play it; True when the client left before its end."""
        playing = asyncio.create_task(_send(script, writer), name="script")
        leaving = asyncio.create_task(_see_leaving(reader), name="client leaves")
        self._plays.add(playing)
        await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        self._plays.discard(playing)
        left = leaving.done()
        for task in (playing, leaving):
            task.cancel()
        await asyncio.gather(playing, leaving, return_exceptions=True)
        return left


async def _send(script: Sequence[Step], writer: asyncio.StreamWriter) -> None:
    for step in script:
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
        else:
            await step()


async def _see_leaving(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        await reader.read(1)


async def _read_request(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
    line, *fields = head.strip().split("\r\n")
    headers = {key.lower(): value.strip() for key, _, value in (field.partition(":") for field in fields)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(line=line, headers=headers, body=body)


@asynccontextmanager
async def scripted(
    *scripts: Sequence[Step], slots: Sequence[Sequence[Step]] | None = None
) -> AsyncGenerator[ScriptedLlama]:
    """Start the server on a free port; unless `slots` says otherwise, none of its slots works."""
    llama = ScriptedLlama(scripts, slots or [[slots_answer(FRESH_SLOT)]])
    server = await asyncio.start_server(llama.connected, "127.0.0.1", 0, backlog=512)
    llama.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield llama
    finally:
        server.close()
        await llama.close()
        await server.wait_closed()


@asynccontextmanager
async def llama_at(
    url: str,
    times: LlamaTimes | None = None,
    *,
    api_key: str | None = None,
    model: str | None = None,
    max_error_body: int = 64 * 1024,
) -> AsyncGenerator[LlamaHttp]:
    """The adapter, with the client that the service has."""
    async with build_llama_client(url, api_key) as client:
        yield LlamaHttp(client, times, model=model, max_error_body=max_error_body)


async def never() -> None:
    """What comes behind it is never sent, and the connection stays open."""
    await asyncio.Event().wait()


async def moment() -> None:
    """A short time, passed by the loop's own timer."""
    passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(0.02, passed.set_result, None)
    await passed


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"


def http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


FRESH_SLOT: dict[str, Any] = {"id": 0, "n_ctx": 2048, "speculative": False, "is_processing": False}


def working_slot(number: int, task: int, processed: int) -> dict[str, Any]:
    """A slot as `/slots` tells it while a prompt is processed in it."""
    prompt = {"id_task": task, "n_prompt_tokens": 2032, "n_prompt_tokens_processed": processed}
    return {**FRESH_SLOT, "id": number, "is_processing": True, **prompt, "next_token": [{"n_decoded": 0}]}


def slots_answer(*slots: dict[str, Any]) -> bytes:
    """The answer of `/slots`."""
    return answer(200, json.dumps(slots).encode())


def answer(status: int, body: bytes | dict[str, Any], *headers: str) -> bytes:
    """A whole answer that is no stream."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Status", "Content-Type: application/json", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + content
