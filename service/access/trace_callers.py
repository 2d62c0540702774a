"""Where turns and readings that have not begun yet were asked for from: callers that are in a trace of their own."""

from __future__ import annotations

from collections import OrderedDict

from service.core.trace_context import TraceContext

# A turn that is cancelled while it waits never begins, and its caller would be kept for ever.
CALLERS_KEPT = 4096


class TraceCallers:
    """Remembers each caller until its work begins; in memory only, so a restart begins a trace of its own."""

    def __init__(self, kept: int = CALLERS_KEPT) -> None:
        self._kept = kept
        self._callers: OrderedDict[str, TraceContext] = OrderedDict()

    def note(self, work: str, by: TraceContext) -> None:
        """Take note of who asked for a turn or a reading."""
        self._callers[work] = by
        while len(self._callers) > self._kept:
            self._callers.popitem(last=False)

    def take(self, work: str) -> TraceContext | None:
        """Give who asked for it, once; None where nobody did who is in a trace."""
        return self._callers.pop(work, None)
