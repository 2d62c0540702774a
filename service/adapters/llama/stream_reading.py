"""The body of a streamed answer, read as it comes: one bounded wait for each read, no task of its own (L4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from service.adapters.llama.failures import NETWORK_ERRORS
from service.core.errors import ErrorKind, ModelFailure
from service.core.stream_patience import StreamPatience


async def next_chunk(chunks: AsyncIterator[bytes], patience: StreamPatience, advances: int) -> bytes | None:
    """Wait for bytes; None at the end.

    Raises:
        ModelFailure: nothing came, or nothing that counts, for too long; or the connection was lost.
    """
    deadline, too_late = patience.deadline(asyncio.get_running_loop().time(), advances)
    try:
        async with asyncio.timeout_at(deadline):
            return await anext(chunks, None)
    except TimeoutError as error:
        raise too_late from error
    except NETWORK_ERRORS as error:
        said = "the connection to llama-server was lost before the answer was complete"
        raise ModelFailure(ErrorKind.STREAM_CLOSED, said) from error
