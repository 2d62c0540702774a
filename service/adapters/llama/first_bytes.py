"""Whether the first bytes of an answer have come: the HTTP client itself tells of a head only when it is whole (L2)."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler


class FirstBytes:
    """What has been heard of one request."""

    def __init__(self) -> None:
        self.have_come = False

    def listen(self) -> None:
        """Hear what comes on the connections that this task opens from now on."""
        _listening.set(self)


_listening: ContextVar[FirstBytes | None] = ContextVar("first_bytes", default=None)


class HearingConnector(aiohttp.TCPConnector):
    """Opens connections that tell when their first bytes come."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]
        # There is no public way to have other protocols made; a test sees when this one is gone.
        self._factory = partial(_HearingHandler, loop=asyncio.get_running_loop())


class _HearingHandler(ResponseHandler):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        # Made in the task of the request, so its context is at hand.
        self._heard = _listening.get()

    def data_received(self, data: bytes) -> None:
        if self._heard is not None:
            self._heard.have_come = True
            self._heard = None
        super().data_received(data)
