"""A part of a conversation as text, for whoever summarises it, in pieces that fit (C1).

Above: `summarising`. Below: `projection`, whose blocks are told here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from service.core.projection import Block
from service.core.summary_text import fenced
from service.core.text_boundary import boundary_before

_LEAST_ROOM = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Something that was said: by whom, the text, and the fence of an untrusted one (P6)."""

    speaker: str
    text: str
    fence: str | None = None

    def __str__(self) -> str:
        told = f" {self.text}" if self.fence is None else f"\n{fenced(self.text, self.fence)}"
        return f"{self.speaker}:{told}"


def passages(blocks: Iterable[Block]) -> Iterator[Passage]:
    """Tell blocks in words; a summary that the first one holds is left out, and so are thoughts."""
    for block in blocks:
        if block.question is not None:
            yield Passage(speaker="User", text=block.question)
        elif block.batch is not None:
            yield from _batch(block)
        elif block.messages[0]["role"] == "assistant":
            yield Passage(speaker="Assistant", text=block.messages[0]["content"])


def _batch(block: Block) -> Iterator[Passage]:
    batch = block.batch
    assert batch is not None  # the caller looked
    if batch.content.strip():
        yield Passage(speaker="Assistant", text=batch.content)
    for call, result in zip(batch.tool_calls, block.results, strict=True):
        yield Passage(speaker="Assistant", text=f"calls {call.name} with {call.arguments}")
        yield Passage(speaker=f"Result of {call.name} ({result.status})", text=result.content, fence=result.fence)


def pieces(told: Iterable[Passage], most_bytes: int) -> list[str]:
    """Join passages to texts of at most so many bytes; one that is longer goes on in the next text, fenced again."""
    texts: list[str] = []
    for part in (part for passage in told for part in _parts(passage, most_bytes)):
        together = f"{texts[-1]}\n\n{part}" if texts else part
        if texts and len(together.encode()) <= most_bytes:
            texts[-1] = together
        else:
            texts.append(part)
    return texts


def _parts(passage: Passage, most_bytes: int) -> Iterator[str]:
    around = len(str(replace(passage, text="")).encode())
    # A window narrower than a character would never come to the end.
    room = max(_LEAST_ROOM, most_bytes - around)
    start, whole = 0, passage.text
    while True:
        window = whole[start : start + room + 1]
        fitting = len(window.encode()[:room].decode(errors="ignore"))
        length = boundary_before(window, fitting) or fitting
        yield str(replace(passage, text=whole[start : start + length]))
        start += length
        if start >= len(whole):
            return
