"""An idempotency key runs a tool once while the port lives; a call that nobody waits for any more is cancelled.

Answers are kept up to a bound, the oldest go first. Their keys stay: a call that comes again after its answer has gone
is told so, and is not run. At most a million are kept, at some hundred bytes each: far more than come again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from hashlib import sha256

from service.port_wire.problems import KeyReused

MAX_BYTES = 32 * 1024 * 1024
MAX_KEYS = 1_000_000


class AlreadyRun(Exception):
    """The call was run before, and its answer is not kept, or it was cancelled; the text says which."""


@dataclass(slots=True, eq=False)
class _Running:
    fingerprint: bytes
    task: asyncio.Task[bytes]
    waiting: int = 0


@dataclass(slots=True)
class KeyedCalls:
    """Calls in flight, answers that are kept, and keys of those that are not."""

    max_bytes: int = MAX_BYTES
    max_keys: int = MAX_KEYS
    _running: dict[str, _Running] = field(default_factory=dict[str, _Running])
    _kept: OrderedDict[str, tuple[bytes, bytes]] = field(default_factory=OrderedDict[str, tuple[bytes, bytes]])
    _used: OrderedDict[bytes, None] = field(default_factory=OrderedDict[bytes, None])
    _bytes: int = 0

    async def answer(self, key: str, fingerprint: bytes, run: Callable[[], Coroutine[None, None, bytes]]) -> bytes:
        """Give the answer for the key, by `run` if the key is new; `run` must not raise.

        When the last one who waits for it is cancelled, so is the call.

        Raises:
            KeyReused: the key is known with another fingerprint.
            AlreadyRun: the key is known, and there is no answer to give.
        """
        kept = self._kept.get(key)
        running = self._running.get(key)
        if kept is not None:
            return _same(kept[0], fingerprint, kept[1])
        if running is None:
            self._refuse_used(key)
            # No await between the look-up and the entry: of two requests at once only one starts the tool.
            running = _Running(fingerprint, asyncio.create_task(run(), name=f"call {key}"))
            self._running[key] = running
            running.task.add_done_callback(lambda task: self._ended(key, fingerprint, task))
        _same(running.fingerprint, fingerprint, b"")
        return await self._wait(running)

    async def _wait(self, running: _Running) -> bytes:
        running.waiting += 1
        try:
            return await asyncio.shield(running.task)
        except asyncio.CancelledError:
            if running.task.cancelled():
                raise AlreadyRun("the call was cancelled while it ran; it may have taken effect") from None
            raise
        finally:
            running.waiting -= 1
            if not running.waiting and not running.task.done():
                running.task.cancel()

    def _refuse_used(self, key: str) -> None:
        if _digest(key) in self._used:
            raise AlreadyRun("this call ran before, and is not run twice; its answer is not kept any more")

    def _ended(self, key: str, fingerprint: bytes, task: asyncio.Task[bytes]) -> None:
        del self._running[key]
        self._used[_digest(key)] = None
        while len(self._used) > self.max_keys:
            self._used.popitem(last=False)
        if task.cancelled():
            return
        self._kept[key] = fingerprint, task.result()
        self._bytes += len(task.result())
        while self._bytes > self.max_bytes:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._bytes -= len(oldest)


def _same(known: bytes, given: bytes, answer: bytes) -> bytes:
    if known != given:
        raise KeyReused
    return answer


def _digest(key: str) -> bytes:
    return sha256(key.encode()).digest()[:16]
