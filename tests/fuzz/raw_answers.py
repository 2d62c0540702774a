"""Whether the bytes that came back are HTTP answers, and which."""

from __future__ import annotations

import re

from tests.fuzz.judge import Unsound

_STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5]\d\d) [ -~]*")
_HEADER_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\t -~\x80-\xff]*)")
_CHUNK_LINE = re.compile(rb"[0-9a-f]+")
EVENT_STREAM = b"text/event-stream"
DECLARED = frozenset({501, 503, 505})
"""Statuses of 500 and above that the service may answer with."""


def statuses(answers: bytes, *, to_head: bool) -> list[int]:
    """Read answers, one behind the other; `to_head` says that some may answer a HEAD, and have no body.

    Raises:
        Unsound: they are none, or one is not whole; an event stream may be.
    """
    found: list[int] = []
    while answers:
        status, headers, answers = _head(answers)
        found.append(status)
        if status < 200 or status in (204, 304):
            continue
        if to_head and (not answers or answers.startswith(b"HTTP/1.1 ")):
            continue
        if headers.get(b"transfer-encoding") == b"chunked":
            answers = _behind_chunks(answers, may_break_off=headers.get(b"content-type", b"").startswith(EVENT_STREAM))
        else:
            length = int(headers.get(b"content-length", b"-1"))
            _need(0 <= length <= len(answers), f"a body of {length} bytes is not whole: {answers[:200]!r}")
            answers = answers[length:]
    return found


def _head(answers: bytes) -> tuple[int, dict[bytes, bytes], bytes]:
    head, end, rest = answers.partition(b"\r\n\r\n")
    _need(bool(end), f"no end of a head: {answers[:200]!r}")
    first, *lines = head.split(b"\r\n")
    status = _STATUS_LINE.fullmatch(first)
    _need(status is not None, f"no status line: {first[:200]!r}")
    assert status is not None  # for the type checker
    headers: dict[bytes, bytes] = {}
    for line in lines:
        header = _HEADER_LINE.fullmatch(line)
        _need(header is not None, f"no header: {line[:200]!r}")
        assert header is not None  # for the type checker
        headers[header[1].lower()] = header[2]
    both = b"content-length" in headers and b"transfer-encoding" in headers
    _need(not both, "an answer has two lengths")
    return int(status[1]), headers, rest


def _behind_chunks(answers: bytes, *, may_break_off: bool) -> bytes:
    while True:
        line, end, rest = answers.partition(b"\r\n")
        if may_break_off and not end:
            return b""
        _need(bool(end) and _CHUNK_LINE.fullmatch(line) is not None, f"no chunk: {answers[:200]!r}")
        size = int(line, 16)
        if may_break_off and len(rest) < size + 2:
            return b""
        _need(rest[size : size + 2] == b"\r\n", f"a chunk of {size} bytes is not whole")
        answers = rest[size + 2 :]
        if size == 0:
            return answers


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise Unsound(what)
