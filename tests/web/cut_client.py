"""A client whose connections break: what it makes of them together, and what it holds each of them to (H6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from service.core.json_types import JsonObject
from tests.web.serving import Frame
from tests.web.stepped import settle

Step = tuple[str, int]
Text = dict[str, str]
"""The `reasoning` and the `content` of one step."""


def frames_in(data: bytes) -> list[Frame]:
    """Read the frames that are whole."""
    return [Frame(tuple(block.decode().split("\n"))) for block in data.split(b"\n\n")[:-1]]


def record_lines(frames: Iterable[Frame]) -> list[tuple[str, ...]]:
    """Give the records among them as they came, byte for byte."""
    return [frame.lines for frame in frames if frame.field("id") is not None]


@dataclass
class CutClient:
    """Keeps the records and the cursor over all connections, and the text of the steps within one.

    It fails on a record that it has seen, on a delta that does not go on where its text ends, on a second `partial`
    of a step, on text of a step that is over or whose records from before are missing, and on a record that says
    something else than the text that came.
    """

    records: list[Frame] = field(default_factory=list[Frame])
    cursor: str | None = None
    partials: int = 0
    _texts: dict[Step, Text] = field(default_factory=dict[Step, Text])
    _answered: set[Step] = field(default_factory=set[Step])

    @property
    def text(self) -> dict[Step, Text]:
        """What has come of steps in flight."""
        return {step: text for step, text in self._texts.items() if any(text.values())}

    def connected(self) -> None:
        """Begin a connection: text that it brings is joined or whole, never the rest of an earlier one's."""
        self._texts.clear()
        self.partials = 0

    def at_hand(self) -> CutClient:
        """Give a client that knows what this one knows, and has no connection."""
        return CutClient(list(self.records), self.cursor, _answered=set(self._answered))

    def take(self, *frames: Frame) -> None:
        """Take what the connection brought."""
        for frame in frames:
            kind = frame.field("event")
            if frame.field("id") is not None:
                self._take_record(frame)
            elif kind is not None:
                self._take_signal(kind, frame.data)

    def _take_record(self, frame: Frame) -> None:
        place, data = frame.field("id"), frame.data
        assert self.cursor is None or int(place or "") > int(self.cursor), f"{place} behind {self.cursor}"
        assert (str(data["pos"]), data["type"]) == (place, frame.field("event"))
        self.cursor = place
        self.records.append(frame)
        if data["type"] == "attempt":
            self._texts.pop(_step(data), None)
        elif data["type"] == "assistant":
            told = self._texts.pop(_step(data), None)
            assert told in (None, {"reasoning": data["reasoning"], "content": data["content"]})
            self._answered.add(_step(data))
        elif data["type"] == "user":
            # As if a step before the first one had been answered.
            self._answered.add((data["turn"], 0))

    def _take_signal(self, kind: str, data: JsonObject) -> None:
        if kind in ("reasoning", "content", "partial"):
            turn, step = _step(data)
            assert (turn, step - 1) in self._answered, f"{data} before its time"
            assert (turn, step) not in self._answered, f"{data} after its time"
        if kind in ("reasoning", "content"):
            told = self._texts.setdefault(_step(data), {"reasoning": "", "content": ""})
            assert data["offset"] == len(told[kind]), f"{data} behind {told}"
            told[kind] += data["text"]
        elif kind == "partial":
            assert _step(data) not in self._texts, f"{data} behind {self._texts[_step(data)]}"
            self._texts[_step(data)] = {"reasoning": data["reasoning"], "content": data["content"]}
            self.partials += 1
        elif kind == "retrying":
            self._texts.pop(_step(data), None)


def _step(data: JsonObject) -> Step:
    return data["turn"], data["step"]


class Connection:
    """One connection within this process: chunks are sent one by one, and the last of them may arrive in part."""

    def __init__(self, chunks: AsyncGenerator[bytes], client: CutClient) -> None:
        self._chunks = chunks
        self.client = client
        self._next: asyncio.Task[bytes] | None = None
        self._last = b""
        self.ended = False
        client.connected()

    async def read(self) -> bool:
        """Take the next chunk, if there is one; what was taken before has arrived."""
        self._arrive(1.0)
        if self._next is None:
            self._next = asyncio.create_task(_next_of(self._chunks))
        await settle()
        if not self._next.done():
            return False
        self._last, self._next = self._next.result(), None
        self.ended = not self._last
        return not self.ended

    async def read_on(self) -> None:
        """Take all that there is."""
        while await self.read():
            pass

    async def cut(self, share: float = 1.0) -> None:
        """Break it; of the chunk that was taken last only this share has arrived."""
        self._arrive(share)
        if self._next is not None:
            self._next.cancel()
            with suppress(asyncio.CancelledError):
                await self._next
        await self._chunks.aclose()

    def _arrive(self, share: float) -> None:
        self.client.take(*frames_in(self._last[: round(share * len(self._last))]))
        self._last = b""


async def _next_of(chunks: AsyncGenerator[bytes]) -> bytes:
    return await anext(chunks, b"")
