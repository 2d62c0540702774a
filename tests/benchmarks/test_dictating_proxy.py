"""The proxy that dictates: what it changes, what it leaves, and that nothing is held back or left open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import anyio
import httpx
import pytest

from benchmarks.dictating_proxy import dictating_proxy, exactly, in_turn
from service.core.json_types import JsonObject
from tests.benchmarks.scripted_server import Reply, Request, serving

pytestmark = [pytest.mark.anyio]

COMPLETIONS = "/v1/chat/completions"
WITHIN_S = 20


class Recording:
    """A server whose tokens are the code points of a text."""

    def __init__(self, *, tokenize: int = 200) -> None:
        self.requests: list[Request] = []
        self._tokenize = tokenize

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        if request.path == "/tokenize":
            return Reply(status=self._tokenize, body={"tokens": [ord(letter) for letter in request.body["content"]]})
        self.requests.append(request)
        match request.path:
            case "/busy":
                return Reply(status=503, body={"error": {"message": "Loading model"}}, headers={"Retry-After": "3"})
            case _:
                return Reply(body={"path": request.path}, headers={"X-Own": "kept"})

    @property
    def grammars(self) -> list[str]:
        """What was dictated."""
        return [request.body["grammar"] for request in self.requests]


class SlowServer:
    """Streams one piece at a time: the next when it is told to, or none as soon as its client has left."""

    def __init__(self) -> None:
        self.next = Event()
        self.left = Event()

    @contextmanager
    def serving(self) -> Generator[str]:
        """Run for as long as the block runs; gives the address."""
        slow = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                if self.path == "/silent":
                    # Behind its request a client sends nothing, so this ends when it has left.
                    self.connection.settimeout(WITHIN_S)
                    assert self.rfile.read(1) == b""
                    slow.left.set()
                    return
                for number in range(3):
                    self.wfile.write(f"data: {number}\n\n".encode())
                    assert slow.next.wait(WITHIN_S)
                    slow.next.clear()

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_address[1]}"
            finally:
                server.shutdown()
                thread.join()


async def test_a_completion_is_dictated_token_by_token_in_place_of_its_own_grammar(http: httpx.AsyncClient) -> None:
    server = Recording()
    asked: JsonObject = {"messages": [], "grammar": "root ::= bool", "max_tokens": 9}
    with serving(server) as url, dictating_proxy(url, in_turn(["no", "é"])) as proxy:
        answers = [await http.post(f"{proxy}{COMPLETIONS}", json=asked) for _ in range(2)]

    assert [answer.json() for answer in answers] == [{"path": COMPLETIONS}] * 2
    assert server.grammars == ["root ::= <[110]> <[111]>\n", "root ::= <[233]>\n"]
    assert server.requests[0].body == {**asked, "grammar": exactly([110, 111])}


async def test_a_dictation_sees_what_is_asked(http: httpx.AsyncClient) -> None:
    def same_again(asked: JsonObject) -> str:
        return asked["messages"][-1]["content"]

    server = Recording()
    with serving(server) as url, dictating_proxy(url, same_again) as proxy:
        await http.post(f"{proxy}{COMPLETIONS}", json={"messages": [{"role": "user", "content": "A"}]})

    assert server.grammars == [exactly([65])]


async def test_all_other_requests_and_their_answers_go_through_as_they_are(http: httpx.AsyncClient) -> None:
    server = Recording()
    with serving(server) as url, dictating_proxy(url, in_turn([])) as proxy:
        counted = await http.post(f"{proxy}/tokenize", json={"content": "ab"})
        posted = await http.post(f"{proxy}/v1/other?n=1", json={"grammar": "root ::= bool"})
        got = await http.get(f"{proxy}/props?autoload=false")

    assert counted.json() == {"tokens": [97, 98]}
    assert (posted.json(), got.json()) == ({"path": "/v1/other?n=1"}, {"path": "/props?autoload=false"})
    assert got.headers["x-own"] == "kept"
    assert [request.body for request in server.requests] == [{"grammar": "root ::= bool"}, {}]


async def test_the_status_and_the_error_of_the_server_are_passed_on(http: httpx.AsyncClient) -> None:
    with serving(Recording()) as url, dictating_proxy(url, in_turn([])) as proxy:
        answer = await http.get(f"{proxy}/busy")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
    assert answer.json() == {"error": {"message": "Loading model"}}


async def test_a_server_that_is_away_is_a_bad_gateway(http: httpx.AsyncClient) -> None:
    with serving(Recording()) as url:
        pass
    with dictating_proxy(url, in_turn([])) as proxy:
        answer = await http.get(f"{proxy}/props")

    assert answer.status_code == 502


@pytest.mark.parametrize(("texts", "tokenize"), [([], 200), (["no"], 500)])
async def test_a_completion_that_cannot_be_dictated_is_an_error_and_is_not_asked(
    http: httpx.AsyncClient, texts: list[str], tokenize: int
) -> None:
    server = Recording(tokenize=tokenize)
    with serving(server) as url, dictating_proxy(url, in_turn(texts)) as proxy:
        answer = await http.post(f"{proxy}{COMPLETIONS}", json={"messages": []})

    assert answer.status_code == 500
    assert server.requests == []


async def test_a_body_that_comes_in_pieces_is_sent_on_whole(http: httpx.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"messages": '
        yield b"[]}"

    server = Recording()
    with serving(server) as url, dictating_proxy(url, in_turn(["no"])) as proxy:
        await http.post(f"{proxy}{COMPLETIONS}", content=pieces())
        await http.post(f"{proxy}/v1/other", content=pieces())

    assert [request.body["messages"] for request in server.requests] == [[], []]


async def test_a_stream_passes_through_piece_by_piece(http: httpx.AsyncClient) -> None:
    slow = SlowServer()
    with slow.serving() as url, dictating_proxy(url, in_turn([])) as proxy:
        async with http.stream("GET", f"{proxy}/stream") as answer:
            pieces: list[str] = []
            async for piece in answer.aiter_text():
                # The server writes the next one only now: none was held back to come with it.
                pieces.append(piece)
                slow.next.set()

    assert answer.headers["content-type"] == "text/event-stream"
    assert pieces == ["data: 0\n\n", "data: 1\n\n", "data: 2\n\n"]


async def test_a_client_that_leaves_ends_the_request_to_a_server_that_is_silent(http: httpx.AsyncClient) -> None:
    slow = SlowServer()
    with slow.serving() as url, dictating_proxy(url, in_turn([])) as proxy:
        async with http.stream("GET", f"{proxy}/silent"):
            assert not slow.left.is_set()
        assert await anyio.to_thread.run_sync(slow.left.wait, WITHIN_S)
