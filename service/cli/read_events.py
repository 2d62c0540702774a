"""The events of a reading as `turnkeeper read` takes them: JSON of a service that may be of another version."""

from __future__ import annotations

from typing import cast

from service.codec import READING_RECORD_TYPES, from_json
from service.core.reading.records import ReadingRecord
from service.core.reading.signals import ChunkStarted, ReadingProgress, ReadingText
from service.core.signals import Queued, Waiting
from service.ports.running_service import ToldEvent

ReadingNews = ReadingRecord | ChunkStarted | ReadingProgress | ReadingText | Queued | Waiting
"""What is shown of a reading; other signals change nothing that is seen."""

_SIGNALS = (ChunkStarted, ReadingProgress, ReadingText, Queued, Waiting)
_KINDS: dict[str, type[ReadingNews]] = {**READING_RECORD_TYPES, **{kind.type: kind for kind in _SIGNALS}}


def reading_news(event: ToldEvent) -> ReadingNews | None:
    """Read an event; None when it is not shown, or not as this version knows it."""
    kind = _KINDS.get(event.type)
    if kind is None:
        return None
    try:
        return cast(ReadingNews, from_json(kind, event.data))
    except (KeyError, TypeError, ValueError):
        return None
