"""The fake llama-server, as a process of its own: tokens as fast as they are wanted, at next to no cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.overhead.fake_llama import compile_fake_llama
from benchmarks.startup.own_program import own_program

_START_S = 10


@asynccontextmanager
async def model_stand_in(folder: Path) -> AsyncGenerator[str]:
    """Compile the fake into a folder and run it; gives its address.

    Raises:
        MeasurementFailed: it can't be compiled, or never answered.
    """
    program = await asyncio.to_thread(compile_fake_llama, folder)
    async with own_program(lambda port: (str(program), str(port)), within_s=_START_S) as url:
        yield url
