"""What a reading cost, when it has ended: for the meter, and for the one line that the log of the process has of it.

Above: `live_reading`, which appends the end.
"""

from __future__ import annotations

import structlog

from service.core.ids import ReadingId
from service.core.reading.records import ReadingOutcome, RunEnd
from service.ports.meter import ReadingCost

log = structlog.get_logger(__name__)


def cost_of(end: RunEnd, documents: int, duration_s: float, gate_wait_s: float) -> ReadingCost:
    """Give what a reading took."""
    return ReadingCost(
        outcome=end.outcome,
        error=None if end.error is None else end.error.kind,
        documents=documents,
        chunks_seen=end.chunks_seen,
        chunks_used=end.chunks_used,
        usage=end.usage,
        duration_s=max(0.0, duration_s),
        gate_wait_s=gate_wait_s,
    )


def tell(reading: ReadingId, cost: ReadingCost) -> None:
    """Write the reading's line: what it cost, and nothing of what was read; a warning where it failed."""
    usage = cost.usage
    write = log.warning if cost.outcome is ReadingOutcome.FAILED else log.info
    write(
        "reading.ended",
        reading=reading,
        outcome=cost.outcome,
        error=cost.error,
        documents=cost.documents,
        chunks_seen=cost.chunks_seen,
        chunks_used=cost.chunks_used,
        completions=usage.completions,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cached_share=round(usage.cached_tokens / usage.prompt_tokens, 3) if usage.prompt_tokens else None,
        duration_s=round(cost.duration_s, 3),
        gate_wait_s=round(cost.gate_wait_s, 3),
    )
