"""The wait for the head of an answer: one request without a deadline, and looks at the slots beside it (L2, L8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

from service.adapters.llama.exchange import Exchange, FirstBytes
from service.adapters.llama.slots_poller import SlotsPoller
from service.core.completion_events import StillWaiting
from service.core.head_wait import HeadWait, Sight


async def wait_for_head(
    request: Coroutine[Any, Any, Exchange],
    heard: FirstBytes,
    wait: HeadWait,
    poller: SlotsPoller,
    *,
    poll_ms: int,
) -> AsyncGenerator[StillWaiting | Exchange]:
    """Tell at each look what is waited for; give the answer at the end, which the caller then has to close.

    `heard` is what the request is listened to by. Leaving the generator earlier breaks the request off. A head that
    comes within `poll_ms` costs no look.

    Raises:
        ModelFailure: the wait has lasted too long.
        Exception: what the request raised.
    """
    sending = asyncio.create_task(request, name="wait for the head")
    try:
        await asyncio.wait({sending}, timeout=poll_ms / 1000)
        if not sending.done():
            async with poller.watching():
                while not sending.done():
                    told = await _look(sending, heard, wait, poller)
                    if told is not None:
                        yield told
        answer = sending.result()
    except BaseException:
        await _break_off(sending)
        raise
    yield answer


async def _look(
    sending: asyncio.Task[Exchange], heard: FirstBytes, wait: HeadWait, poller: SlotsPoller
) -> StillWaiting | None:
    """Wait for the next look, but not longer than the wait may last; None when the head came before."""
    loop = asyncio.get_running_loop()
    looking = poller.next_look()
    bound = None if wait.deadline is None else wait.deadline - loop.time()
    await asyncio.wait({sending, looking}, timeout=bound, return_when=asyncio.FIRST_COMPLETED)
    if sending.done():
        return None
    if looking.done():
        seen = looking.result().sight
        return wait.look(Sight.FIRST_BYTES if heard.have_come else seen, loop.time())
    wait.check(loop.time())
    return None


async def _break_off(sending: asyncio.Task[Exchange]) -> None:
    """End the request and see it gone, whatever came of it in the meantime."""
    if sending.cancel():
        await asyncio.wait({sending})
    if not sending.cancelled() and sending.exception() is None:
        sending.result().close()
