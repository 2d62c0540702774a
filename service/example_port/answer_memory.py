"""Run each idempotency key once, and remember its answer.

A port with a database keeps the answer where it keeps the effect, in one transaction. This one has its
effects in memory, so its answers live there too. Memory is bounded: the oldest finished answers go first.
Turnkeeper sends a key again soon (after its own restart) or never, so it meets an answer that is still there.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from service.port_wire.problems import KeyReused

MAX_ANSWERS = 10_000
MAX_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    fingerprint: bytes
    task: asyncio.Task[bytes]


class AnswerMemory:
    """Map idempotency keys to answers, in flight or finished."""

    def __init__(self, *, max_answers: int = MAX_ANSWERS, max_bytes: int = MAX_BYTES) -> None:
        self._entries: dict[str, _Entry] = {}
        self._max_answers = max_answers
        self._max_bytes = max_bytes
        self._bytes = 0

    async def answer(self, key: str, fingerprint: bytes, run: Callable[[], Coroutine[None, None, bytes]]) -> bytes:
        """Give the answer for the key, by `run` if the key is new; `run` must not raise.

        Raises:
            KeyReused: the key is known with another fingerprint.
        """
        entry = self._entries.get(key)
        if entry is None:
            # No await between the look-up and the entry: of two requests at once only one starts the tool.
            entry = _Entry(fingerprint=fingerprint, task=asyncio.create_task(run(), name=f"call {key}"))
            self._entries[key] = entry
            entry.task.add_done_callback(self._finished)
        elif entry.fingerprint != fingerprint:
            raise KeyReused
        # Shielded: a caller that leaves must not stop the tool, which the next one with this key waits for.
        return await asyncio.shield(entry.task)

    def _finished(self, task: asyncio.Task[bytes]) -> None:
        if not task.cancelled():
            self._bytes += len(task.result())
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        excess = len(self._entries) - self._max_answers
        forgotten: list[str] = []
        for key, entry in self._entries.items():
            if len(forgotten) >= excess and self._bytes <= self._max_bytes:
                break
            if entry.task.done():
                forgotten.append(key)
                self._bytes -= 0 if entry.task.cancelled() else len(entry.task.result())
        for key in forgotten:
            del self._entries[key]
