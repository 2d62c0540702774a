"""The body of a streamed answer, taken as it comes: one timer for the stream, a task only in a long silence (L4)."""

from __future__ import annotations

import asyncio
from typing import cast

from service.adapters.llama.exchange import Exchange, Sink
from service.adapters.llama.failures import NETWORK_ERRORS
from service.adapters.llama.slots_poller import SlotsPoller
from service.core.completion_stream import CompletionStream
from service.core.errors import ErrorKind, ModelFailure
from service.core.stream_patience import StreamPatience
from service.ports import Take


class StreamReading:
    """Reads one answer in the task that makes it, and looks at the slots when it is silent for long; to be closed.

    A timeout around each read costs as much as the read itself, at each token. So there is one timer, which looks when
    it comes due whether anything came since it was set.
    """

    def __init__(self, exchange: Exchange, patience: StreamPatience, poller: SlotsPoller) -> None:
        self._exchange = exchange
        self._patience = patience
        self._poller = poller
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._reader = cast("asyncio.Task[object]", asyncio.current_task())
        self._waits = False
        # Looks at the slots while nothing comes for long.
        self._watching: asyncio.Task[ModelFailure] | None = None
        self._left: set[asyncio.Task[ModelFailure]] = set()

    async def push(self, stream: CompletionStream, take: Take) -> bool:
        """Have `stream` take chunks, and `take` its deltas, in the moment in which they come.

        Returns:
            False when `take` wants to await something or the stream is over; True when no more will come.

        Raises:
            ModelFailure: nothing came, or nothing that counts, for too long; or the connection was lost.
            Exception: what `take` raised.
        """
        self._patience.begin(self._loop.time(), stream.advances)
        self._set_timer()
        taken = self._taking(stream, take)
        cancels_before = self._reader.cancelling()
        self._waits = True
        try:
            return await self._exchange.push(taken)
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
            self._stop_watching()
            if self._left:
                await asyncio.wait(self._left)
                self._left.clear()

    def close(self) -> None:
        """Give the timer up."""
        if self._timer is not None:
            self._timer.cancel()

    def _taking(self, stream: CompletionStream, take: Take) -> Sink:
        patience, now = self._patience, self._loop.time

        def taken(chunk: bytes) -> bool:
            deltas = stream.feed(chunk)
            if (deltas and not take(deltas)) or stream.is_over:
                return False
            patience.heard_at = heard_at = now()
            if stream.advances != patience.advances:
                patience.advances, patience.advanced_at = stream.advances, heard_at
            if self._watching is not None:
                self._stop_watching()
            if self._timer is None:
                self._set_timer()
            return True

        return taken

    def _set_timer(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_at(self._patience.look_at, self._come_due)

    def _come_due(self) -> None:
        self._timer = None
        if not self._waits:
            # Something is awaited before more is taken: what takes up again sets the timer.
            return
        if self._loop.time() < self._patience.look_at:
            self._set_timer()
            return
        self._watching = asyncio.create_task(self._watch(), name="watch a silent stream")
        self._watching.add_done_callback(self._end_read)

    def _end_read(self, watching: asyncio.Task[ModelFailure]) -> None:
        # However the looks ended: nobody else would end the read.
        if self._waits and watching is self._watching:
            self._reader.cancel()

    def _stop_watching(self) -> None:
        watching, self._watching = self._watching, None
        if watching is not None and watching.cancel():
            self._left.add(watching)

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
