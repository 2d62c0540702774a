"""What a connection may take: of time, of bytes that are no body, and how many there may be.

uvicorn waits for ever for a request's head, for a body and for a reader, and keeps as many bytes of a head, and as
many requests sent ahead, as come. Here one timer looks after each connection, as long as it is owed something: after
the first request, one that comes whole and is read costs none.

Above: the command line, which gives the class to uvicorn. Below: `connection_bounds.py`, `early_answers.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any

import structlog
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from service.web.connection_bounds import LEAST_BYTES_PER_S, RESERVE, RESERVE_HEAD_S, SENT_AHEAD, ConnectionBounds
from service.web.early_answers import HEAD_TOO_LARGE, MALFORMED, NO_ROOM, EarlyAnswer, HealthOnly, UntilTheCallerLeaves

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

log = structlog.get_logger(__name__)

# Of each connection until a request comes ahead of the answer to the one before: a queue of its own takes 760 bytes.
# Never filled.
_NONE_AHEAD: deque[tuple[RequestResponseCycle, ASGI3Application]] = deque()


def bounded_connections(bounds: ConnectionBounds) -> type[asyncio.Protocol]:
    """Give what uvicorn makes of each connection: `uvicorn.Config(http=...)`."""
    return type("Connection", (BoundedConnection,), {"bounds": bounds})


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's connection, held to bounds."""

    # With more than 30 attributes of its own each connection would have a table of their names of its own: 2 KiB.
    __slots__ = (
        "_answer",
        "_body_due",
        "_has_body",
        "_has_ended",
        "_head_due",
        "_in_body",
        "_is_deaf",
        "_is_extra",
        "_looks_at",
        "_of_body",
        "_of_head",
        "_of_none",
        "_running",
        "_send_due",
        "_timer",
        "_unsent",
    )
    bounds: ConnectionBounds

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.pipeline = _NONE_AHEAD
        self.app = UntilTheCallerLeaves(self.app)
        self._timer: asyncio.TimerHandle | None = None
        self._looks_at = inf
        self._head_due = self._body_due = self._send_due = inf
        self._in_body = self._has_body = self._has_ended = self._is_extra = False
        # What comes is thrown away: the parser has given up, and an answer is on its way.
        self._is_deaf = False
        # Bytes of a head that isn't whole; of a body in this period; of none of its content since the last piece of it.
        self._of_head = self._of_body = self._of_none = 0
        self._unsent = 0
        self._answer = MALFORMED
        # The request that is being answered; uvicorn keeps the one that came last.
        self._running: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin, if there is room."""
        super().connection_made(transport)
        beyond = len(self.connections) - self.bounds.max_connections
        if beyond > RESERVE:
            self._refuse(NO_ROOM)
            return
        patience = self.bounds.header_timeout_s
        if beyond == 1:
            log.warning("connections.full", max_connections=self.bounds.max_connections)
        if beyond > 0:
            self._is_extra, patience = True, RESERVE_HEAD_S
            self.app = HealthOnly(self.app)
        self._head_due = self.loop.time() + patience
        self._look_at(self._head_due)

    def connection_lost(self, exc: Exception | None) -> None:
        """End; whoever works for this connection is told."""
        if self._timer is not None:
            self._timer.cancel()
        self._tell_running()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, and see whether more is owed now."""
        if self._is_deaf:
            return
        super().data_received(data)
        if self._is_deaf or self.transport.is_closing():
            return
        if self._in_body:
            self._take_body(len(data))
            return
        # Behind a request's end no more than this piece of the next head can have come.
        self._of_head = 0 if self._has_ended else self._of_head + len(data)
        self._has_ended = False
        if self._of_head > self.bounds.max_header_bytes or len(self.headers or ()) > self.bounds.max_headers:
            self._refuse(HEAD_TOO_LARGE)
        elif self._head_due == inf and (self._running is None or self._running.response_complete):
            self._head_due = self.loop.time() + self.bounds.header_timeout_s
            self._look_at(self._head_due)

    def _take_body(self, size: int) -> None:
        self._of_body += size
        self._of_none = 0 if self._has_body else self._of_none + size
        self._has_body = False
        if self._of_none > self.bounds.max_header_bytes:
            # Endless trailers or chunk extensions: the parser collects the former.
            self._refuse(HEAD_TOO_LARGE)
        elif self._body_due == inf:
            self._body_due = self.loop.time() + self.bounds.body_timeout_s
            self._look_at(self._body_due)

    def on_headers_complete(self) -> None:
        """Let the request in, if its head is within bounds."""
        size = len(self.url) + sum(map(len, chain.from_iterable(self.headers)))
        if size > self.bounds.max_header_bytes or len(self.headers) > self.bounds.max_headers:
            self._answer = HEAD_TOO_LARGE
            raise _Refused
        if len(self.pipeline) >= SENT_AHEAD:
            raise _Refused
        if self._running is not None and not self.cycle.response_complete and self.pipeline is _NONE_AHEAD:
            # uvicorn puts this request into it.
            self.pipeline = deque()
        super().on_headers_complete()
        # Trailers go here, and not to what was checked already.
        self.headers = []
        self._in_body = True
        self._of_body = self._of_none = 0
        self._head_due = self._body_due = inf
        if self._is_extra:
            self.cycle.keep_alive = False
        if self.pipeline:
            # uvicorn reads no more now, and would not see the client leave; how much may come is bounded here.
            self.flow.resume_reading()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body."""
        self._has_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """See that a request is whole."""
        self._in_body, self._has_ended = False, True
        self._body_due = inf
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Go on with the next request, or wait for one."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_flushing()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection on which nothing more came."""
        self._close()

    def pause_writing(self) -> None:
        """See that the client takes no more for now."""
        super().pause_writing()
        self._watch_flushing()

    def resume_writing(self) -> None:
        """See that it has taken what there was."""
        super().resume_writing()
        self._send_due = inf

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser can't read, or `on_headers_complete` refused."""
        self._refuse(self._answer)

    def _unsupported_upgrade_warning(self) -> None:
        # The request is served as it is; two lines in the log for each would be for the caller to write.
        pass

    def _refuse(self, answer: EarlyAnswer) -> None:
        """Answer and close; an answer that would be taken for that of a request before is left out."""
        running = self._running
        if self.transport.is_closing():
            return
        if running is not None and not running.response_complete:
            if running is not self.cycle or not running.more_body:
                self._end_with(running)
                return
            if running.response_started:
                self._close()
                return
        self.transport.write(answer.as_bytes(self.server_state.default_headers))
        self._close()

    def _end_with(self, running: RequestResponseCycle) -> None:
        """Take nothing more, and close when this request is answered."""
        running.keep_alive = False
        self.pipeline.clear()
        self._head_due = self._body_due = inf
        self._is_deaf = True
        # Or nobody would see the client leave.
        self.flow.resume_reading()

    def _close(self) -> None:
        self._head_due = self._body_due = inf
        self._tell_running()
        self.transport.close()
        self._watch_flushing()

    def _tell_running(self) -> None:
        running = self._running
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()

    def _watch_flushing(self) -> None:
        """Give the client some time to take what is sent: a transport that is closed waits for ever."""
        self._unsent = self.transport.get_write_buffer_size()
        if self._unsent:
            self._send_due = self.loop.time() + self.bounds.send_timeout_s
            self._look_at(self._send_due)

    def _look_at(self, due: float) -> None:
        """Look at this time or before."""
        if due < self._looks_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._looks_at = self.loop.call_at(due, self._look), due

    def _look(self) -> None:
        self._timer, self._looks_at = None, inf
        now = self.loop.time()
        if now >= self._send_due and not self._has_taken():
            self._log("a reader", self.bounds.send_timeout_s)
            self.transport.abort()
            return
        if now >= self._body_due and not self._has_come():
            self._log("a body", self.bounds.body_timeout_s)
            self._close()
        elif now >= self._head_due:
            # No line in the log: browsers open connections in advance.
            self._close()
        if (due := min(self._send_due, self._body_due, self._head_due)) < inf:
            self._look_at(due)

    def _has_taken(self) -> bool:
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        self._send_due = self.loop.time() + self.bounds.send_timeout_s
        return self._unsent < before

    def _has_come(self) -> bool:
        """Tell whether enough of a body has come in this period, and begin the next."""
        least = LEAST_BYTES_PER_S * self.bounds.body_timeout_s
        come, self._of_body = self._of_body, 0
        self._body_due = self.loop.time() + self.bounds.body_timeout_s
        if self.flow.read_paused:
            # We read no more for now, and in the next period may begin late.
            self._of_body = int(least) + 1
            return True
        # After an answer nobody waits for the rest.
        return come >= least and not self.cycle.response_complete

    def _log(self, waits_for: str, after_s: float) -> None:
        log.info("connection.dropped", waits_for=waits_for, after_s=after_s)


class _Refused(Exception):
    """Makes the parser stop."""
