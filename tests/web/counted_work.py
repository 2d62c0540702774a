"""Counts the calls that the service's own thread makes, while tokens pass it one by one.

Work is counted and not timed, so that the count is the same whatever else the machine does: the model server sends its
next token when the client has the last one, so nothing is ever joined. Server and client are threads of their own,
whose work isn't counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType

import uvloop

from service.bootstrap import build
from tests.web.serving import BOUND_S, served_by, settings_with
from tests.written_logs import written_logs

PROPS = {
    "default_generation_settings": {"n_ctx": 8192},
    "total_slots": 4,
    "chat_template": "{{ messages }}",
    "model_path": "small.gguf",
}
_CHUNK = (
    '{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"a%d "}}],"created":1795987173,'
    '"id":"chatcmpl-1","model":"small.gguf","system_fingerprint":"b1","object":"chat.completion.chunk"}'
)
_END = (
    '{"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"id":"chatcmpl-1"}',
    '{"choices":[],"id":"chatcmpl-1","usage":{"prompt_tokens":9,"completion_tokens":%d,"total_tokens":9}}',
    "[DONE]",
)


class LockstepLlama(threading.Thread):
    """A llama-server that sends as many tokens as the message says, each when `taken` is released."""

    def __init__(self) -> None:
        super().__init__(name="model server", daemon=True)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.taken = threading.Semaphore(0)

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    self._answer(connection)

    def close(self) -> None:
        # Closing alone doesn't wake the one who accepts.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.join(BOUND_S)

    def _answer(self, connection: socket.socket) -> None:
        line, body = _request(connection)
        if "chat/completions " in line:
            self._stream(connection, int(json.loads(body)["messages"][-1]["content"]))
            return
        answer = json.dumps(PROPS if line.startswith("GET /props") else {"prompt": "the same"}).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer))

    def _stream(self, connection: socket.socket, tokens: int) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head)
        for number in range(tokens):
            connection.sendall(_http_chunk(_CHUNK % number))
            self.taken.acquire(timeout=BOUND_S)
        connection.sendall(b"".join(_http_chunk(text.replace("%d", str(tokens))) for text in _END) + b"0\r\n\r\n")


class Client:
    """Makes a session and runs a turn in it, and takes each token as it comes."""

    def __init__(self, port: int, llama: LockstepLlama) -> None:
        self._port = port
        self._llama = llama

    def turn(self, tokens: int) -> bytes:
        """Run a turn of so many tokens; give its events."""
        created = self._post("/sessions", {}, lambda _: None)
        session = json.loads(created.partition(b"\r\n\r\n")[2])["id"]
        told = 0

        def take(answer: bytes) -> None:
            nonlocal told
            for _ in range(answer.count(b"event: content\n") - told):
                self._llama.taken.release()
                told += 1

        return self._post(f"/sessions/{session}/turns", {"content": str(tokens)}, take)

    def _post(self, path: str, asked: object, take: Callable[[bytes], None]) -> bytes:
        body = json.dumps(asked).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
            f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        answer = b""
        with socket.create_connection(("127.0.0.1", self._port), timeout=BOUND_S) as connection:
            connection.sendall(head.encode() + body)
            while more := connection.recv(65536):
                answer += more
                take(answer)
        return answer


def calls_of_turns(folder: Path, *tokens: int) -> list[int]:
    """Run a turn of so many tokens for each number, in a session of its own; give the calls that each took."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_calls_of_turns(folder, tokens))


async def _calls_of_turns(folder: Path, tokens: tuple[int, ...]) -> list[int]:
    llama = LockstepLlama()
    llama.start()
    settings = settings_with(llama_url=llama.url, database_url=f"sqlite:///{folder / 'store.db'}")
    counts: list[int] = []
    try:
        with written_logs() as log:
            async with served_by(build, settings) as service:
                client = Client(service.port, llama)
                # The first ones make what is made once.
                for number in (1, 2, 3):
                    await asyncio.to_thread(client.turn, number)
                for number in tokens:
                    with _counted() as calls:
                        events = await asyncio.to_thread(client.turn, number)
                    assert events.count(b"event: content\n") == number
                    assert b'"outcome":"answered"' in events
                    counts.append(calls[0])
            # The line of each turn is counted as well.
            assert [line["completion_tokens"] for line in log.of("turn.ended")] == [1, 2, 3, *tokens]
    finally:
        llama.close()
    return counts


@contextlib.contextmanager
def _counted() -> Generator[list[int]]:
    """Count the calls of this thread, of Python's functions and of others."""
    calls = [0]

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            calls[0] += 1

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def _request(connection: socket.socket) -> tuple[str, bytes]:
    come = b""
    while b"\r\n\r\n" not in come:
        come += connection.recv(65536)
    head, _, body = come.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head.split(b"\r\n")[0].decode(), body


def _http_chunk(text: str) -> bytes:
    event = f"data: {text}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(event), event)
