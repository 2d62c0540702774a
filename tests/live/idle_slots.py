"""Waits until a real llama-server works no more for a turn that was left."""

from __future__ import annotations

import asyncio
import contextlib
import time

import httpx
import pytest

# A request in prefill is given up only after a second in which the server had no answer for anybody, and a look at
# its slots is such an answer: looking faster would keep it from what is waited for.
BETWEEN_LOOKS_S = 1.5
LOOKS = 20


async def until_idle(http: httpx.AsyncClient, llama_url: str) -> int:
    """Look until no slot works, a bounded number of times; give how long that took, in milliseconds."""
    begun = time.monotonic()
    for _ in range(LOOKS):
        slots = (await http.get(f"{llama_url}/slots")).json()
        if not any(slot["is_processing"] for slot in slots):
            return round((time.monotonic() - begun) * 1000)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BETWEEN_LOOKS_S):
                await asyncio.Event().wait()
    pytest.fail("a slot works on for a turn that was left")
