"""Waits for a model server that is away or loads, and asks again once it is there (L7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from service.access.health_watch import HealthWatch
from service.access.model_server import ModelServer
from service.core.completion_events import WaitReason
from service.core.errors import ErrorKind, ModelFailure
from service.core.retry import Remedy, Shown, rule_for, trouble_of
from service.core.signals import Waiting
from service.ports import Clock

Got = TypeVar("Got")


class ServerPresence:
    """Makes attempts until one meets a server that is there, or it was away for `load_wait_ms`."""

    def __init__(self, server: ModelServer, health: HealthWatch, clock: Clock, *, load_wait_ms: int) -> None:
        self._server = server
        self._health = health
        self._clock = clock
        self._load_wait_ms = load_wait_ms

    async def when_there(self, attempt: Callable[[], Awaitable[Got]], tell: Callable[[Waiting], None]) -> Got:
        """Give what the first attempt gives that the server was there for; `tell` hears of the waiting.

        Raises:
            ModelFailure: the attempt failed, or the server stayed away for `load_wait_ms`.
        """
        away_since: float | None = None
        while True:
            try:
                return await attempt()
            except ModelFailure as failure:
                if not _is_waited_for(failure):
                    raise
                if away_since is None:
                    away_since = self._clock.monotonic()
                await self._until_there(away_since, failure, tell)

    async def _until_there(self, since: float, failure: ModelFailure, tell: Callable[[Waiting], None]) -> None:
        there = False
        while not there:
            waited_ms = round((self._clock.monotonic() - since) * 1000)
            if waited_ms >= self._load_wait_ms:
                seconds = f"{self._load_wait_ms / 1000:g} s (load_wait_ms)"
                said = f"llama-server was not there for {seconds}; at last: {failure.message}"
                raise ModelFailure(ErrorKind.LOAD_TIMEOUT, said, status=failure.status) from failure
            tell(Waiting(reason=WaitReason.LOADING, waited_ms=waited_ms))
            there = await self._health.next_answer()
        # Another model or template may have come back.
        self._server.was_away()


def _is_waited_for(failure: ModelFailure) -> bool:
    trouble = trouble_of(failure, head_seen=False, used_tokens=0, context_tokens=None)
    rule = rule_for(trouble, failure.kind, Shown.NOTHING, before=(), retry_attempts=0)
    return rule.remedy is Remedy.WAIT
