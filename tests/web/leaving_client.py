"""A client on a socket of its own, which can leave in each way that there is."""

from __future__ import annotations

import asyncio
import socket
import struct

from tests.web.serving import BOUND_S

WAYS = ["closes", "half-closes", "resets"]

# With this option a close sends a reset, as the kernel does for a process that ends with data unread.
_RESETTING = struct.pack("ii", 1, 0)


class LeavingClient:
    """A connection on which something was asked."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def head(self) -> str:
        """Wait for the head of the answer."""
        async with asyncio.timeout(BOUND_S):
            return (await self._reader.readuntil(b"\r\n\r\n")).decode()

    def leave(self, way: str) -> None:
        """Leave in one of `WAYS`."""
        if way == "half-closes":
            self._writer.write_eof()
            return
        if way == "resets":
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETTING)
        self._writer.transport.abort()

    def close(self) -> None:
        """Leave in the ordinary way, if that has not been done."""
        self._writer.close()
