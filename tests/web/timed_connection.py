"""One connection on a clock that a test moves, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from service.web.connection_bounds import bounds_of
from service.web.connections import BoundedConnection, bounded_connections
from tests.web.serving import settings_with
from tests.web.stepped import settle


class HandClock:
    """What a connection asks its event loop for; its time goes by only when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self._waiting: list[Call] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], object]) -> Call:
        call = Call(when, callback)
        self._waiting.append(call)
        return call

    def call_later(self, delay: float, callback: Callable[[], object]) -> Call:
        return self.call_at(self.now + delay, callback)

    def create_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    def go_on(self, seconds: float) -> None:
        """Let time go by, and call what is due."""
        end = self.now + seconds
        while due := [call for call in self._waiting if call.when <= end and not call.is_cancelled]:
            call = min(due, key=lambda one: one.when)
            self._waiting.remove(call)
            self.now = call.when
            call.callback()
        self.now = end


class Call:
    """Something to be called at a time."""

    def __init__(self, when: float, callback: Callable[[], object]) -> None:
        self.when = when
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Wire(asyncio.Transport):
    """A transport; the client takes what is written as far as a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.untaken = b""
        self.ended: str | None = None

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        self.untaken += bytes(data)

    def get_write_buffer_size(self) -> int:
        return len(self.untaken)

    def is_closing(self) -> bool:
        return self.ended is not None

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class TimedConnection:
    """The connection."""

    def __init__(self, app: ASGIApp, **values: object) -> None:
        self.clock = HandClock()
        self.wire = Wire()
        bounds = bounds_of(settings_with(**values))
        config = uvicorn.Config(app, ws="none", lifespan="off")
        make = cast("Callable[..., BoundedConnection]", bounded_connections(bounds))
        self.protocol = make(config=config, server_state=ServerState(), app_state={}, _loop=self.clock)
        self.protocol.connection_made(self.wire)

    async def send(self, data: bytes) -> None:
        """Let bytes of the client come."""
        self.protocol.data_received(data)
        await settle()
