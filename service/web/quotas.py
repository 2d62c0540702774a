"""How much one caller may ask at a time: no key keeps the service from the others (K3).

Pure ASGI, right behind what finds out who asks. Above: `app.py`. Below: `request_rate`, `early_answers`.

All is decided before anything is done, since work that has begun is never refused. So a stream is a GET of an address
that ends in `/events`; a turn or a reading whose events are streamed to whoever posted it counts as a request. Streams
and requests are counted apart: pages that follow sessions take nobody's turns.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from service.core.callers import LOCAL_CALLER
from service.core.errors import ProblemCode, RequestRefused
from service.web.authentication import CALLER
from service.web.early_answers import HEALTH_PATHS
from service.web.problems import problem_response
from service.web.request_rate import RequestRate

# What ends may end at any time: there is nothing better to tell those who ask for too much at once.
_AT_ONCE_RETRY_S = 1


class Quotas:
    """Refuse a request of a caller who asks too often, or for too much at the same time; 0 means no bound.

    The one caller of a service without keys has no rate: it is this machine's owner.
    """

    def __init__(self, app: ASGIApp, *, requests_per_minute: int, requests_at_once: int, streams_at_once: int) -> None:
        self._app = app
        self._rate = RequestRate(requests_per_minute) if requests_per_minute else None
        self._per_minute = requests_per_minute
        self._requests = _AtOnce("requests that are not answered yet", requests_at_once, "requests_at_once")
        self._streams = _AtOnce("open streams", streams_at_once, "streams_at_once")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        caller = scope.get(CALLER)
        # A supervisor that is told 429 would restart a service that is only busy.
        if caller is None or scope["path"] in HEALTH_PATHS:
            await self._app(scope, receive, send)
            return
        is_stream = scope["method"] == "GET" and scope["path"].endswith("/events")
        at_once = self._streams if is_stream else self._requests
        name = caller.name
        try:
            if self._rate is not None and caller is not LOCAL_CALLER:
                await self._check_rate(self._rate, name)
            at_once.enter(name)
        except RequestRefused as refused:
            await problem_response(refused, scope)(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            at_once.leave(name)

    async def _check_rate(self, rate: RequestRate, name: str) -> None:
        wait_s = await rate.wait_s(name)
        if wait_s:
            raise RequestRefused(
                ProblemCode.RATE_LIMITED,
                f"this key has sent {self._per_minute} requests in a minute (requests_per_minute); ask again in "
                f"{wait_s} s",
                retry_after_s=wait_s,
            )

    @property
    def open(self) -> dict[str, int]:
        """How much each caller has open now, streams and requests together; nobody without any is named."""
        names = self._requests.numbers.keys() | self._streams.numbers.keys()
        return {name: self._requests.numbers.get(name, 0) + self._streams.numbers.get(name, 0) for name in names}


class _AtOnce:
    """How many of one kind each caller has open."""

    def __init__(self, what: str, most: int, setting: str) -> None:
        self._what = what
        self._most = most
        self._setting = setting
        self.numbers: dict[str, int] = {}

    def enter(self, name: str) -> None:
        """Count one more.

        Raises:
            RequestRefused: rate_limited.
        """
        number = self.numbers.get(name, 0)
        if 0 < self._most <= number:
            raise RequestRefused(
                ProblemCode.RATE_LIMITED,
                f"this caller has {number} {self._what} already ({self._setting}); ask again when one has ended",
                retry_after_s=_AT_ONCE_RETRY_S,
            )
        self.numbers[name] = number + 1

    def leave(self, name: str) -> None:
        """Count one less."""
        left = self.numbers[name] - 1
        if left:
            self.numbers[name] = left
        else:
            del self.numbers[name]
