"""The body of a streamed answer, read as it comes: one timer for each read, a task only in a long silence (L4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx

from service.adapters.llama.failures import NETWORK_ERRORS
from service.adapters.llama.slots_poller import SlotsPoller
from service.core.errors import ErrorKind, ModelFailure
from service.core.stream_patience import StreamPatience


class StreamReading:
    """Reads one answer, and looks at the slots when it is silent for long."""

    def __init__(self, response: httpx.Response, patience: StreamPatience, poller: SlotsPoller) -> None:
        self._chunks: AsyncIterator[bytes] = response.aiter_bytes()
        self._patience = patience
        self._poller = poller

    async def next_chunk(self, advances: int) -> bytes | None:
        """Wait for bytes; None at the end. `advances` grows with all that counts as getting on.

        Raises:
            ModelFailure: nothing came, or nothing that counts, for too long; or the connection was lost.
        """
        loop = asyncio.get_running_loop()
        look_at = self._patience.begin(loop.time(), advances)
        silence = _Silence(self._patience, self._poller)
        bound = asyncio.timeout(None)
        try:
            async with bound:
                timer = loop.call_at(look_at, silence.watch, bound)
                try:
                    return await anext(self._chunks, None)
                finally:
                    timer.cancel()
                    await silence.leave()
        # The bound's own error is among them.
        except NETWORK_ERRORS as error:
            if bound.expired():
                raise silence.verdict() from error
            said = "the connection to llama-server was lost before the answer was complete"
            raise ModelFailure(ErrorKind.STREAM_CLOSED, said) from error


class _Silence:
    """What runs beside a read that takes long: the looks, until one of them ends the read."""

    def __init__(self, patience: StreamPatience, poller: SlotsPoller) -> None:
        self._patience = patience
        self._poller = poller
        self._watching: asyncio.Task[ModelFailure] | None = None
        self._is_left = False

    def watch(self, bound: asyncio.Timeout) -> None:
        """Begin with the looks; `bound` is what ends the read when they are through."""
        self._watching = asyncio.create_task(self._watch(), name="watch a silent stream")
        # However it ends: nobody else would end the read.
        self._watching.add_done_callback(lambda _: self._is_left or bound.reschedule(0))

    async def leave(self) -> None:
        """Stop watching; the read is through."""
        self._is_left = True
        if self._watching is not None and self._watching.cancel():
            await asyncio.wait({self._watching})

    def verdict(self) -> ModelFailure:
        """Give what ended the read."""
        assert self._watching is not None  # only the looks move the bound
        return self._watching.result()

    async def _watch(self) -> ModelFailure:
        loop = asyncio.get_running_loop()
        async with self._poller.watching():
            while True:
                stuck = self._patience.is_stuck(loop.time())
                slots = None if stuck else (await asyncio.shield(self._poller.next_look())).slots
                try:
                    look_at = self._patience.look(loop.time(), slots)
                except ModelFailure as failure:
                    return failure
                await asyncio.sleep(look_at - loop.time())
