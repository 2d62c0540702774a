"""The body of a streamed answer, read as it comes: one timer for the stream, a task only in a long silence (L4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

from service.adapters.llama.failures import NETWORK_ERRORS
from service.adapters.llama.slots_poller import SlotsPoller
from service.core.errors import ErrorKind, ModelFailure
from service.core.stream_patience import StreamPatience


class StreamReading:
    """Reads one answer in the task that makes it, and looks at the slots when it is silent for long; to be closed.

    A timeout around each read costs as much as the read itself, at each token. So there is one timer, which looks when
    it comes due whether it came too early for the read that waits by then.
    """

    def __init__(self, chunks: AsyncIterator[bytes], patience: StreamPatience, poller: SlotsPoller) -> None:
        self._chunks = chunks
        self._patience = patience
        self._poller = poller
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._look_at = 0.0
        self._reader = cast("asyncio.Task[object]", asyncio.current_task())
        self._waits = False
        # Looks at the slots while the reader waits for long.
        self._watching: asyncio.Task[ModelFailure] | None = None

    async def next_chunk(self, advances: int) -> bytes | None:
        """Wait for bytes; None at the end. `advances` grows with all that counts as getting on.

        Raises:
            ModelFailure: nothing came, or nothing that counts, for too long; or the connection was lost.
        """
        self._look_at = self._patience.begin(self._loop.time(), advances)
        if self._timer is None:
            self._timer = self._loop.call_at(self._look_at, self._come_due)
        cancels_before = self._reader.cancelling()
        self._waits = True
        try:
            return await anext(self._chunks, None)
        except asyncio.CancelledError:
            watching = self._watching
            if watching is None or not watching.done() or self._reader.uncancel() > cancels_before:
                raise
            raise watching.result() from None
        except NETWORK_ERRORS as error:
            said = "the connection to llama-server was lost before the answer was complete"
            raise ModelFailure(ErrorKind.STREAM_CLOSED, said) from error
        finally:
            self._waits = False
            if self._watching is not None:
                await self._stop_watching(self._watching)

    def close(self) -> None:
        """Give the timer up."""
        if self._timer is not None:
            self._timer.cancel()

    def _come_due(self) -> None:
        self._timer = None
        if not self._waits:
            # Between two reads: the next one sets the timer.
            return
        if self._loop.time() < self._look_at:
            self._timer = self._loop.call_at(self._look_at, self._come_due)
            return
        self._watching = asyncio.create_task(self._watch(), name="watch a silent stream")
        self._watching.add_done_callback(self._end_read)

    def _end_read(self, _: asyncio.Task[ModelFailure]) -> None:
        # However the looks ended: nobody else would end the read.
        if self._waits:
            self._reader.cancel()

    async def _stop_watching(self, watching: asyncio.Task[ModelFailure]) -> None:
        if watching.cancel():
            await asyncio.wait({watching})
        self._watching = None

    async def _watch(self) -> ModelFailure:
        async with self._poller.watching():
            while True:
                stuck = self._patience.is_stuck(self._loop.time())
                slots = None if stuck else (await asyncio.shield(self._poller.next_look())).slots
                try:
                    look_at = self._patience.look(self._loop.time(), slots)
                except ModelFailure as failure:
                    return failure
                await asyncio.sleep(look_at - self._loop.time())
