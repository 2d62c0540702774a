"""Bytes to server-sent events: where lines end and what a line means, never what an event says (L4, L5).

Above: `completion_stream`, which feeds what the network gives. Below: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from service.core.errors import ErrorKind, ModelFailure

# One chunk of llama-server is some 250 bytes; the largest known, with all log probabilities asked for, are some
# kilobytes. What passes this is no stream of tokens (L4). Servers that cap lines at all choose 64 KiB to 1 MiB.
MAX_LINE_BYTES = 1024 * 1024

# An event of several `data` lines may hold what one line may hold.
MAX_EVENT_BYTES = MAX_LINE_BYTES

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LF = 0x0A
_CR = 0x0D


class SseEvent(NamedTuple):
    """One event: `data` with its lines joined by LF, `event` its name or empty."""

    data: str
    event: str = ""


@dataclass(frozen=True, slots=True)
class SseError:
    """A line `error: …`: what llama-server sent for a failure in mid-stream until September 2025."""

    text: str


@dataclass(frozen=True, slots=True)
class SseComment:
    """A comment; it says nothing but that the server lives."""

    text: str


SseItem = SseEvent | SseError | SseComment
"""What a stream consists of."""


class SseDecoder:
    """Split a stream into items as its bytes come, however they are cut.

    Invalid UTF-8 becomes U+FFFD, as the specification of event streams says: one character broken by the server
    shall not cost the answer around it. An event that has no blank line behind it when the stream ends is dropped.
    """

    def __init__(self, *, max_line_bytes: int = MAX_LINE_BYTES, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._max_event_bytes = max_event_bytes
        self._cap = min(max_line_bytes, max_event_bytes)
        self._partial = bytearray()
        self._cr_came_last = False
        self._begun = False
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._event = ""

    def plain_payloads(self, chunk: bytes) -> list[bytes] | None:
        """Take what llama-server nearly always sends, whole events of one line of data each, and give their data.

        None, and nothing is taken, where it isn't that. A fifth of what it takes to look at each line.
        """
        if self._partial or self._data or self._event or not self._begun or chunk[-2:] != b"\n\n" or b"\r" in chunk:
            return None
        blocks = chunk[:-2].split(b"\n\n") if b"\n\n" in chunk[:-2] else [chunk[:-2]]
        payloads: list[bytes] = []
        for block in blocks:
            if block[:6] != b"data: " or b"\n" in block or len(block) > self._cap:
                return None
            payloads.append(block[6:])
        return payloads

    def feed(self, chunk: bytes) -> Iterator[SseItem]:
        """Give the items that these bytes complete; they are to be taken before more is fed.

        Raises:
            ModelFailure: a line or an event passes its cap; what stood before it was given.
        """
        if not chunk:
            return
        if self._cr_came_last and chunk[0] == _LF:
            chunk = chunk[1:]
        self._cr_came_last = chunk[-1:] == b"\r"
        # bytes, unlike str, break at CR, LF and CRLF only: U+2028, U+0085 and the like stay inside their line.
        lines = chunk.splitlines()
        rest = lines.pop() if lines and chunk[-1] not in (_LF, _CR) else b""
        for line in lines:
            if self._partial:
                line = bytes(self._partial) + line
                self._partial.clear()
            yield from self._line(line)
        self._partial += rest
        if len(self._partial) > self._max_line_bytes:
            raise _too_long("a line", self._max_line_bytes)

    def _line(self, line: bytes) -> Iterator[SseItem]:
        if len(line) > self._max_line_bytes:
            raise _too_long("a line", self._max_line_bytes)
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line.startswith(b"data: "):
            self._add_data(line[6:])
        elif line:
            yield from self._field(line)
        elif self._data:
            yield self._dispatch()
        else:
            self._event = ""

    def _field(self, line: bytes) -> Iterator[SseItem]:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add_data(value)
        elif name == b"event":
            self._event = decoded(value)
        elif name == b"error":
            yield SseError(decoded(value))
        elif not name:
            yield SseComment(decoded(value))

    def _add_data(self, value: bytes) -> None:
        self._data_bytes += len(value) + (1 if self._data else 0)
        if self._data_bytes > self._max_event_bytes:
            raise _too_long("an event", self._max_event_bytes)
        self._data.append(value)

    def _dispatch(self) -> SseEvent:
        event = SseEvent(decoded(b"\n".join(self._data)), self._event)
        self._data.clear()
        self._data_bytes = 0
        self._event = ""
        return event


def decoded(value: bytes) -> str:
    """Give a text of the stream as the specification reads it."""
    return value.decode("utf-8", "replace")


def _too_long(what: str, cap: int) -> ModelFailure:
    return ModelFailure(ErrorKind.PROTOCOL, f"llama-server sent {what} of more than {cap} bytes")
