"""A real HTTP server on a free port of this machine that answers as a script says, for llama-server and service."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from service.core.json_types import JsonObject

CONTEXT_TOKENS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer of the server."""

    body: JsonObject | bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What came in."""

    method: str
    path: str
    body: JsonObject


Script = Callable[[Request], Reply]


@contextmanager
def serving(script: Script) -> Generator[str]:
    """Run the server for as long as the block runs; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on stderr."""

        def _answer(self, method: str) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = script(Request(method=method, path=self.path, body=json.loads(raw) if raw else {}))
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler


class ScriptedLlama:
    """llama-server: a token is a word, and `speak` says what is answered to a prompt.

    The prompt of the call before is what the cache holds, word by word from its beginning.
    """

    def __init__(self, speak: Callable[[str], str], *, context: int = CONTEXT_TOKENS) -> None:
        self._speak = speak
        self._context = context
        self._cached: list[str] = []
        self.prompts: list[str] = []
        self.bodies: list[JsonObject] = []
        self.counted: list[str] = []

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        match request.path:
            case "/props":
                settings = {"n_ctx": self._context}
                return Reply(body={"default_generation_settings": settings, "model_path": "/models/small.gguf"})
            case "/tokenize":
                self.counted.append(request.body["content"])
                return Reply(body={"tokens": list(range(len(self.counted[-1].split())))})
            case "/v1/chat/completions/input_tokens":
                return Reply(body={"input_tokens": len(_prompt(request.body).split())})
            case "/v1/chat/completions":
                return self._complete(request.body)
            case other:
                return Reply(status=404, body={"error": {"message": f"no {other}"}})

    def _complete(self, body: JsonObject) -> Reply:
        prompt = _prompt(body)
        words = prompt.split()
        cached = _common(self._cached, words)
        self._cached = words
        self.prompts.append(prompt)
        self.bodies.append(body)
        said = self._speak(prompt).split()
        kept = said[: body["max_tokens"]]
        message = {"role": "assistant", "content": " ".join(kept)}
        reason = "length" if len(kept) < len(said) else "stop"
        usage = {"prompt_tokens": len(words), "completion_tokens": len(kept)}
        timings = {"cache_n": cached, "prompt_n": len(words) - cached, "predicted_n": len(kept)}
        choices = [{"index": 0, "message": message, "finish_reason": reason}]
        return Reply(body={"choices": choices, "usage": usage, "timings": timings})


def _prompt(body: JsonObject) -> str:
    return body["messages"][-1]["content"]


def _common(before: list[str], now: list[str]) -> int:
    count = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        count += 1
    return count
