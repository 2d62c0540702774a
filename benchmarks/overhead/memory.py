"""What an open stream takes of memory, as the slope between few and many.

Above: the modes by name. Below: the running subject.
"""

from __future__ import annotations

import asyncio

from benchmarks.overhead.answers import Answer, Tally
from benchmarks.overhead.measures import MEMORY_AT_START, MEMORY_PER_STREAM, Values
from benchmarks.overhead.target import Target

FEW = 84
MANY = 276
# The first are not counted: with them come pools and caches.
_BEFORE = 20
# Their first token would come when all is over.
_PROMPT = "fake:n=1,d=0,f=90000"
_OPENING_S = 30
_AT_ONCE = 20
_CALM_S = 1


async def memory(target: Target) -> Values:
    """Open streams that wait for their first token, and look at the server's memory.

    Raises:
        MeasurementFailed: not all of them reach the upstream.
    """
    answers: list[Answer] = []
    try:
        before = await _grown(target, answers, _BEFORE)
        few = await _grown(target, answers, FEW)
        many = await _grown(target, answers, MANY)
    finally:
        for answer in answers:
            answer.leave()
    return {MEMORY_PER_STREAM: (many - few) / (MANY - FEW), MEMORY_AT_START: before / 1024}


async def _grown(target: Target, answers: list[Answer], count: int) -> int:
    """Open streams until there are `count`, and give the memory in KiB."""
    tally = Tally()
    while len(answers) < count:
        answers.append(await target.open(_PROMPT, 1, tally))
        if len(answers) % _AT_ONCE == 0:
            await asyncio.sleep(0.02)
    await target.wait_for_streams(count, _OPENING_S)
    await asyncio.sleep(_CALM_S)
    return target.memory_kib()
