"""Bytes that a caller might send: requests that are right, broken in many ways, and noise."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

SESSION = b"SESSION"
"""Stands where the id of a session belongs that is there."""

_HOST = b"Host: localhost\r\n"
_JSON = b"Content-Type: application/json\r\n"


def _asking(method: bytes, path: bytes, headers: bytes = b"") -> bytes:
    return method + b" " + path + b" HTTP/1.1\r\n" + _HOST + headers + b"\r\n"


def _sending(path: bytes, body: bytes, headers: bytes = _JSON, method: bytes = b"POST") -> bytes:
    return _asking(method, path, headers + b"Content-Length: %d\r\n" % len(body)) + body


def _in_chunks(path: bytes, *pieces: bytes) -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (*pieces, b""))
    return _asking(b"POST", path, _JSON + b"Transfer-Encoding: chunked\r\n") + body


_FORM = (
    b'--b\r\nContent-Disposition: form-data; name="query"\r\n\r\nwhy\r\n'
    b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\ntext\r\n--b--\r\n'
)

RIGHT = (
    _asking(b"GET", b"/livez"),
    _asking(b"HEAD", b"/livez"),
    _asking(b"GET", b"/"),
    _asking(b"GET", b"/metrics"),
    _asking(b"GET", b"/sessions?limit=5"),
    _asking(b"GET", b"/sessions/" + SESSION),
    _asking(b"GET", b"/sessions/" + SESSION + b"/events?after=0", b"Last-Event-ID: 1\r\n"),
    _asking(b"GET", b"/sessions/" + SESSION + b"/records", b"Accept: application/x-ndjson\r\n"),
    _asking(b"OPTIONS", b"/sessions", b"Origin: http://localhost\r\n"),
    _asking(b"DELETE", b"/sessions/ses_none"),
    _sending(b"/sessions", b'{"title":"a","metadata":{"k":"v"}}'),
    _sending(b"/sessions", b"{}", _JSON + b"Expect: 100-continue\r\n"),
    _sending(b"/sessions/" + SESSION, b'{"title":"b"}', method=b"PATCH"),
    _sending(b"/sessions/" + SESSION + b"/turns", b'{"content":"Hi"}', _JSON + b"Prefer: respond-async\r\n"),
    _sending(b"/sessions/" + SESSION + b"/compact", b"{}"),
    _sending(b"/readings", _FORM, b"Content-Type: multipart/form-data; boundary=b\r\n"),
    _in_chunks(b"/sessions", b'{"title":', b'"c"}'),
)

_METHODS = (b"", b"get", b"PUT", b"TRACE", b"CONNECT", b"PRI", b"QUERY", b"G\x00T", b"M-SEARCH", b"A" * 300, b"\xff")
_PATHS = (
    b"*",
    b"",
    b"//localhost/livez",
    b"/../../etc/passwd",
    b"/%2e%2e/%2e%2e/etc/passwd",
    b"/sessions/%ff%fe",
    b"/sessions/%c0%ae%00",
    b"/sessions/%zz",
    b"/sessions/\xff\xfe",
    b"/sessions?limit=%ff&limit=9999999999999999999999",
    b"/sessions?" + b"a=b&" * 300,
    b"http://localhost/livez",
    b"http://localhost",
    b"http://evil.example/livez",
    b"http://localhost:99999/livez",
    b"localhost:443",
    b"/livez#part",
    b"/" + b"a/" * 2000,
    b"/sessions/" + b"9" * 5000,
)
_HEADERS = (
    b"Content-Length: 99999999999999999999999\r\n",
    b"Content-Length: 4294967296\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Transfer-Encoding: identity\r\n",
    b"Content-Encoding: gzip\r\n",
    b"Content-Type: multipart/form-data\r\n",
    b"Content-Type: application/json; charset=utf-7\r\n",
    b"Connection: close\r\n",
    b"Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\nSec-WebSocket-Version: 13\r\n",
    b"Connection: upgrade\r\nUpgrade: h2c\r\n",
    b"Expect: 100-continue\r\n",
    b"Expect: something\r\n",
    b"Host: evil.example\r\n",
    b"Host: localhost:99999999\r\n",
    b"Host: [::1\r\n",
    b"Origin: null\r\n",
    b"Accept: \xff\xfe/\x80;q=9e999\r\n",
    b"Accept: text/html;q=nan, */*;q=\r\n",
    b"Prefer: respond-async, wait=99999999999999999999\r\n",
    b"Idempotency-Key: " + b"k" * 300 + b"\r\n",
    b"Last-Event-ID: 99999999999999999999999999\r\n",
    b"Range: bytes=0-0,1-1,-99999999999\r\n",
    b"Authorization: Bearer \xff\r\n",
    b"Cookie: " + b"a=b; " * 500 + b"\r\n",
    b" folded: yes\r\n",
    b"no colon\r\n",
    b": no name\r\n",
    b"A: b\n",
    b"X-\x00: \x01\r\n",
    b"X: " + b"y" * 40_000 + b"\r\n",
)
_BODIES = (
    b"[" * 5000,
    b'"\xff\xfe"',
    b'{"title":NaN}',
    b'{"title":"\\ud800"}',
    b"\x1f\x8b\x08\x00",
    b"9" * 5000,
    b"null",
    b"",
)
_NUMBERS = (
    b"-1",
    b"0",
    b"00000000000000000005",
    b"4294967296",
    b"18446744073709551616",
    b"1e9",
    b"0x10",
    b"\xd9\xa3",
    b" ",
)
_CHUNKS = (
    b"zz\r\n",
    b"FFFFFFFFFFFFFFFFF\r\n",
    b"-1\r\n",
    b"1\r\nab\r\n",
    b"5;a=b\r\nab\r\n",
    b"0\r\nHost: x\r\n\r\n",
    b"\r\n",
    b"1\n{",
)


def _odd_method(rng: Random, request: bytes) -> bytes:
    return rng.choice(_METHODS) + request[request.find(b" ") :]


def _odd_path(rng: Random, request: bytes) -> bytes:
    start, end = request.find(b" ") + 1, request.find(b" HTTP/")
    return request[:start] + rng.choice(_PATHS) + request[end:]


def _odd_version(rng: Random, request: bytes) -> bytes:
    return request.replace(
        b"HTTP/1.1", rng.choice((b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"HTTP/9.9", b"RTSP/1.0", b"")), 1
    )


def _odd_header(rng: Random, request: bytes) -> bytes:
    line = request.find(b"\r\n") + 2
    return request[:line] + rng.choice(_HEADERS) * rng.choice((1, 1, 1, 2)) + request[line:]


def _many_headers(rng: Random, request: bytes) -> bytes:
    line = request.find(b"\r\n") + 2
    return request[:line] + b"A: b\r\n" * rng.choice((50, 99, 101, 5000)) + request[line:]


def _odd_body(rng: Random, request: bytes) -> bytes:
    return _sending(b"/sessions", rng.choice(_BODIES))


def _odd_chunk(rng: Random, request: bytes) -> bytes:
    head = _asking(b"POST", b"/sessions", _JSON + b"Transfer-Encoding: chunked\r\n")
    return head + b"".join(rng.choice(_CHUNKS) for _ in range(rng.randint(1, 3)))


def _odd_number(rng: Random, request: bytes) -> bytes:
    places = [place for place, byte in enumerate(request) if 48 <= byte <= 57]
    place = rng.choice(places) if places else 0
    return request[:place] + rng.choice(_NUMBERS) + request[place + 1 :]


def _odd_bytes(rng: Random, request: bytes) -> bytes:
    place = rng.randrange(len(request) + 1)
    return request[:place] + rng.randbytes(rng.randint(1, 8)) + request[place + rng.choice((0, 0, 1, 8)) :]


def _flipped(rng: Random, request: bytes) -> bytes:
    changed = bytearray(request)
    for _ in range(rng.randint(1, 4)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _truncated(rng: Random, request: bytes) -> bytes:
    return request[: rng.randrange(len(request) + 1)]


def _repeated(rng: Random, request: bytes) -> bytes:
    start, end = sorted(rng.randrange(len(request) + 1) for _ in range(2))
    return request[:end] + request[start:]


def _without_cr(rng: Random, request: bytes) -> bytes:
    return request.replace(b"\r\n", b"\n", rng.choice((1, -1)))


_WAYS: tuple[Callable[[Random, bytes], bytes], ...] = (
    _odd_method,
    _odd_path,
    _odd_path,
    _odd_version,
    _odd_header,
    _odd_header,
    _odd_header,
    _many_headers,
    _odd_body,
    _odd_chunk,
    _odd_number,
    _odd_bytes,
    _flipped,
    _truncated,
    _repeated,
    _without_cr,
)


def made(seed: int, number: int) -> tuple[bytes, ...]:
    """Make what is sent over one connection, in pieces; the same numbers give the same."""
    rng = Random(f"raw:{seed}:{number}")
    if rng.random() < 0.05:
        sent = rng.randbytes(rng.choice((1, 20, 1000, 70_000)))
    else:
        sent = b"".join(_one(rng) for _ in range(rng.choice((1, 1, 1, 1, 2, 3, 30))))
    places = sorted(rng.randrange(len(sent) + 1) for _ in range(rng.choice((0, 0, 1, 3))))
    return tuple(sent[start:end] for start, end in zip((0, *places), (*places, len(sent)), strict=True))


def _one(rng: Random) -> bytes:
    request = rng.choice(RIGHT)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        request = rng.choice(_WAYS)(rng, request)
    return request
