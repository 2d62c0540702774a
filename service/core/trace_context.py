"""The W3C Trace Context of a piece of work: which trace it belongs to, and which span it was asked for from.

Read of `traceparent`, level 1 of the recommendation and what it says of later versions. `tracestate` is not passed on:
it is free text of others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_INVALID_VERSION = "ff"
_SAMPLED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceContext:
    """A span of a trace: 32 and 16 lower-case hex digits, neither all zeros, and whether the trace is kept."""

    trace_id: str
    span_id: str
    sampled: bool

    @property
    def traceparent(self) -> str:
        """Give it as the header of that name."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


def read_traceparent(header: str) -> TraceContext | None:
    """Read the header; None where it is none, and then the recommendation has a new trace begin."""
    found = _TRACEPARENT.fullmatch(header.strip(" \t"))
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == _INVALID_VERSION or (version == "00" and more is not None):
        return None
    if not int(trace_id, 16) or not int(span_id, 16):
        return None
    return TraceContext(trace_id=trace_id, span_id=span_id, sampled=bool(int(flags, 16) & _SAMPLED))


def own_context(work: str) -> TraceContext:
    """Give the context of a turn or a reading that nobody's trace asked for: always the same for the same id.

    So what goes on after a restart stays in its trace. By a hash, since samplers take the last 64 bits of the trace's
    id for a random number, and those of a UUID all begin alike. Sampled, so that a tool port that keeps traces does not
    take it that these are not wanted.
    """
    digest = sha256(work.encode()).hexdigest()
    return TraceContext(trace_id=digest[:32], span_id=digest[32:48], sampled=True)
