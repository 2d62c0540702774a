"""A server that is a program: started, spoken to over its standard input and output, and ended.

The SDK has a transport for this, which joins a line in memory however long it is; this one has a bound, throws away
what is no message, and gives the server only the variables that it may see. What it writes to standard error goes to
the port's own log.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, ErrorData, JSONRPCError, jsonrpc_message_adapter

from service.mcp_port.bounded_lines import MAX_LINE_BYTES, BoundedLines, TooLong
from service.mcp_port.config_file import StdioServer
from service.mcp_port.ending import Ending
from service.mcp_port.environment import environment_of

TOO_LONG = f"answered with more than {MAX_LINE_BYTES // 1024**2} MiB, which is too much"

# A server whose input has ended may finish what it is at.
_END_WITHIN_S = 2.0
_READ_BYTES = 64 * 1024
_LOGGED_CHARACTERS = 500

_log = logging.getLogger(__name__)


@asynccontextmanager
async def stdio_transport(name: str, server: StdioServer, ending: Ending) -> AsyncGenerator[TransportStreams]:
    """Start the program and give the streams of messages; at the end, end it and what it has started.

    Raises:
        OSError: it can't be started.
    """
    process = await asyncio.create_subprocess_exec(
        server.command,
        *server.args,
        env=environment_of(server.env, os.environ),
        cwd=server.cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **_own_group(),
    )
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    program = _Program(name, process, ending)
    tasks = [
        asyncio.create_task(program.read(incoming), name=f"output of {name}"),
        asyncio.create_task(program.write(outgoing), name=f"input of {name}"),
        asyncio.create_task(program.log_errors(), name=f"errors of {name}"),
    ]
    try:
        yield received, sent
    finally:
        ending.is_ours()
        await _shielded(program.end(tasks))
        for stream in (incoming, received, sent, outgoing):
            stream.close()


class _Program:
    """A running server."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, ending: Ending) -> None:
        self._name = name
        self._process = process
        self._ending = ending

    async def read(self, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Hand on messages, until its output ends."""
        stdout, lines = self._process.stdout, BoundedLines()
        assert stdout is not None  # it is a pipe
        try:
            # Closed at the end, so that calls that wait for an answer learn that none comes.
            async with incoming:
                while chunk := await stdout.read(_READ_BYTES):
                    for line in lines.feed(chunk):
                        message = self._message(line)
                        if message is not None:
                            await incoming.send(message)
                # First, since whoever learns of the end asks why.
                self._ending.end(await self._how_it_ended())
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            # The session is gone.
            return

    def _message(self, line: bytes | TooLong) -> SessionMessage | None:
        if isinstance(line, TooLong):
            _log.warning("%s: %s", self._name, TOO_LONG)
            if line.id is None:
                self._ending.end(TOO_LONG)
                return None
            error = JSONRPCError(
                jsonrpc="2.0", id=_id_of(line.id), error=ErrorData(code=CONNECTION_CLOSED, message=TOO_LONG)
            )
            return SessionMessage(error)
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            if line.strip():
                _log.info("%s wrote what is no message: %s", self._name, shown(line))
            return None

    async def write(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write messages to its input."""
        stdin = self._process.stdin
        assert stdin is not None  # it is a pipe
        with suppress(ConnectionError, anyio.ClosedResourceError):
            async with outgoing:
                async for one in outgoing:
                    stdin.write(one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                    await stdin.drain()

    async def log_errors(self) -> None:
        """Write what it says on standard error to the log, line by line and cut."""
        stderr, lines = self._process.stderr, BoundedLines(_LOGGED_CHARACTERS * 4)
        assert stderr is not None  # it is a pipe
        while chunk := await stderr.read(_READ_BYTES):
            for line in lines.feed(chunk):
                _log.info("%s: %s", self._name, "(a long line)" if isinstance(line, TooLong) else shown(line))

    async def _how_it_ended(self) -> str:
        try:
            async with asyncio.timeout(_END_WITHIN_S):
                code = await self._process.wait()
        except TimeoutError:
            return "closed its output and goes on"
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    async def end(self, tasks: list[asyncio.Task[None]]) -> None:
        """Close its input and wait; then ask it to end, then end it, with what it has started."""
        assert self._process.stdin is not None  # it is a pipe
        self._process.stdin.close()
        for number in (None, signal.SIGTERM, _KILL):
            if number is not None:
                _signal_group(self._process, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_WITHIN_S):
                    await self._process.wait()
                    break
        # What it has started may live on in its group, and hold its output open.
        _signal_group(self._process, _KILL)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def shown(line: bytes) -> str:
    """Give a line of somebody else's for a log: cut, and with what is no plain text made visible."""
    text = line.decode("utf-8", errors="backslashreplace").strip()[:_LOGGED_CHARACTERS]
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def _id_of(text: str) -> int | str:
    return int(text) if text.isdigit() else text.strip('"')


_KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, number)


async def _shielded(work: Any) -> None:
    """Let the end of a program be, whoever is cancelled meanwhile; each wait in it is bounded."""
    with anyio.CancelScope(shield=True):
        await work
