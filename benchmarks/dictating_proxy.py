"""Stands before a real llama-server and dictates, token by token, what its model writes.

What a small model makes of a text is chance, and must not decide what is measured. The server does all its work as
ever: it evaluates the prompt, keeps its cache, and samples each token, of which the grammar of a request allows one.
All else goes through as it is, piece by piece, and a client that leaves ends the request to the server as well.
"""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from threading import Thread
from typing import Literal
from urllib.parse import urlsplit

from service.core.json_types import JsonObject

COMPLETIONS = "/chat/completions"
_PIECE_BYTES = 1 << 16
# A stream may be silent for as long as a prompt is evaluated, and then ends with the client's patience.
_CONNECT_S = 10
# These are written anew: the body is another one, and each request has a connection of its own.
_WRITTEN_ANEW = {"host", "connection", "content-length", "transfer-encoding", "keep-alive", "expect"}

Dictation = Callable[[JsonObject], str]
"""Gives the text that is the answer to a body of `/chat/completions`."""


def in_turn(texts: Sequence[str]) -> Dictation:
    """Dictate the n-th text to the n-th completion, whatever it asks; one more is an error."""
    left = iter(texts)
    return lambda _: next(left)


def exactly(tokens: Sequence[int]) -> str:
    """Give the grammar (GBNF) of these tokens.

    A grammar of characters leaves it to the model how it cuts the text into tokens, and a text that it doesn't expect
    it writes letter by letter.
    """
    return f"root ::= {' '.join(f'<[{token}]>' for token in tokens)}\n"


@contextmanager
def dictating_proxy(llama_url: str, dictation: Dictation) -> Generator[str]:
    """Forward all requests to a llama-server of this machine, and dictate its completions. Gives the address.

    What goes wrong at the server comes back as it is; a server that can't be reached is a 502, a dictation or a count
    of tokens that fails a 500.
    """
    address = urlsplit(llama_url)
    upstream = (address.hostname or "", address.port or 80)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._forward("GET", b"")

        def do_POST(self) -> None:
            body = _body(self.rfile, self.headers["Content-Length"])
            if self.path.endswith(COMPLETIONS):
                try:
                    body = _dictated(body, dictation, upstream)
                except Exception as error:
                    self.send_error(500, "the dictation failed", repr(error))
                    return
            self._forward("POST", body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

        def _forward(self, method: Literal["GET", "POST"], body: bytes) -> None:
            self.close_connection = True
            kept = [(name, value) for name, value in self.headers.items() if name.lower() not in _WRITTEN_ANEW]
            own = [("Host", f"{upstream[0]}:{upstream[1]}"), ("Connection", "close"), ("Content-Length", len(body))]
            lines = [f"{method} {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in [*own, *kept]), "", ""]
            try:
                server = socket.create_connection(upstream, timeout=_CONNECT_S)
            except OSError as error:
                self.send_error(502, "no llama-server", str(error))
                return
            with server:
                server.settimeout(None)
                server.sendall("\r\n".join(lines).encode("latin-1") + body)
                _hand_over(server, self.connection)

    with _Proxy(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="dictating proxy")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class _Proxy(ThreadingHTTPServer):
    # What is still asked ends with the server or with its client.
    daemon_threads = True
    block_on_close = False


def _body(sent: BufferedIOBase, length: str | None) -> bytes:
    """Read the body of a request: of a length that is said beforehand, or in pieces of which each says its own."""
    if length is not None:
        return sent.read(int(length))
    body = bytearray()
    while size := int(sent.readline(), 16):
        body += sent.read(size)
        sent.readline()
    sent.readline()
    return bytes(body)


def _hand_over(server: socket.socket, client: socket.socket) -> None:
    """Hand over what the server sends, as it comes, until it ends or the client leaves."""
    while True:
        readable, _, _ = select.select([server, client], [], [])
        # A client sends nothing behind its request: what there is to read is its leaving.
        if client in readable:
            return
        try:
            piece = server.recv(_PIECE_BYTES)
            client.sendall(piece)
        except OSError:
            return
        if not piece:
            return


def _dictated(body: bytes, dictation: Dictation, upstream: tuple[str, int]) -> bytes:
    """Put the grammar of what is dictated in the place of the one that the request holds, if any."""
    asked: JsonObject = json.loads(body)
    return json.dumps({**asked, "grammar": exactly(_tokens(dictation(asked), upstream))}).encode()


def _tokens(text: str, upstream: tuple[str, int]) -> list[int]:
    connection = HTTPConnection(*upstream)
    try:
        asked = json.dumps({"content": text, "add_special": False, "parse_special": False})
        connection.request("POST", "/tokenize", asked, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise HTTPException(f"/tokenize answered {answer.status}")
        return json.loads(said)["tokens"]
    finally:
        connection.close()
