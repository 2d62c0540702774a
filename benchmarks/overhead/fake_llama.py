"""The fake llama-server: compiled where it is needed, started like each server, and asked how it is.

Above: the bench, which runs it. Below: `fake_llama.c`, and the address of a server.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

from benchmarks.overhead.adapters import Address
from benchmarks.overhead.failures import MeasurementFailed

_SOURCE = Path(__file__).with_name("fake_llama.c")
_ANSWER_S = 10


def compile_fake_llama(folder: Path) -> Path:
    """Compile the server into a folder and give the program.

    Raises:
        MeasurementFailed: there is no C compiler, or it can't compile.
    """
    program = folder / "fake_llama"
    command = [os.environ.get("CC", "cc"), "-O2", "-o", str(program), str(_SOURCE)]
    try:
        compiled = subprocess.run(command, check=False, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise MeasurementFailed("there is no C compiler: install cc, or name one in the variable CC") from error
    if compiled.returncode:
        raise MeasurementFailed(f"{' '.join(command)} failed: {compiled.stderr}")
    return program


async def running_streams(address: Address) -> int:
    """Ask a fake llama-server how many answers it is streaming.

    Raises:
        MeasurementFailed: it doesn't answer.
    """
    try:
        async with asyncio.timeout(_ANSWER_S):
            reader, writer = await asyncio.open_connection(address.host, address.port)
            try:
                writer.write(b"GET /stat HTTP/1.1\r\nHost: fake\r\n\r\n")
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                return json.loads(await reader.readexactly(length))["streaming"]
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        raise MeasurementFailed(f"the fake llama-server does not answer: {error!r}") from error
