"""A tool port with the tools that a test gives it, in a thread of the test."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from service.core.json_types import JsonObject

Answer = Callable[[JsonObject], str]


def spec(name: str, description: str, properties: JsonObject) -> JsonObject:
    """Describe a tool that wants all of these arguments."""
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "parameters": parameters}


@contextmanager
def given_port(tools: Sequence[JsonObject], answer: Answer) -> Generator[str]:
    """Serve these tools; `answer` gives the text for each call. Gives the port's address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send({"tools": list(tools)})

        def do_POST(self) -> None:
            call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send({"status": "result", "content": answer(call)})

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

        def _send(self, body: JsonObject) -> None:
            content = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, name="tool port of a test", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
