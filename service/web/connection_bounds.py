"""The numbers that a connection is held to.

Above: `connections.py`. Below: the settings.
"""

from __future__ import annotations

from dataclasses import dataclass

from service.config import Settings

LEAST_BYTES_PER_S = 1024
"""What a body must come with, on an average of `body_timeout_s`: a fifth of what a phone gets where it gets least."""
RESERVE = 32
"""Connections beyond the bound that are asked what they want, for those who ask for the service's health."""
RESERVE_HEAD_S = 2
"""Seconds in which one of these must have asked."""
SENT_AHEAD = 16
"""Requests that a client may send while an earlier one is answered; each is kept."""

# An event stream drops a slow reader by itself and says so in the log; this is for all else, and comes after it.
_AFTER_STREAMS_S = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionBounds:
    """The settings about connections, by their names; `send_timeout_s` is how long a reader may take nothing."""

    header_timeout_s: float
    body_timeout_s: float
    send_timeout_s: float
    max_connections: int
    max_header_bytes: int
    max_headers: int


def bounds_of(settings: Settings, max_connections: int | None = None) -> ConnectionBounds:
    """Read them; `max_connections` is less than the setting's where the process can't have as many files open."""
    return ConnectionBounds(
        header_timeout_s=settings.header_timeout_s,
        body_timeout_s=settings.body_timeout_s,
        send_timeout_s=settings.sse_send_timeout_s + _AFTER_STREAMS_S,
        max_connections=max_connections or settings.max_connections,
        max_header_bytes=settings.max_header_bytes,
        max_headers=settings.max_headers,
    )
