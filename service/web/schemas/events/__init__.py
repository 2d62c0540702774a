"""What streams bring, as JSON schemas: one for each kind of record and signal, of turns and of readings (section 4).

The shapes are read off the classes that the codec encodes; only what they mean is told here. Below: `kinds` (which
there are), `derived` (their members), `words` (what they mean), `document` (the schemas by their names).
"""

from service.web.schemas.events.document import READING_EVENT, SESSION_RECORD, TURN_EVENT, event_schemas, streamed
from service.web.schemas.events.kinds import (
    READING_RECORDS,
    READING_SIGNALS,
    TURN_RECORDS,
    TURN_SIGNALS,
    EventKind,
)

__all__ = [
    "READING_EVENT",
    "READING_RECORDS",
    "READING_SIGNALS",
    "SESSION_RECORD",
    "TURN_EVENT",
    "TURN_RECORDS",
    "TURN_SIGNALS",
    "EventKind",
    "event_schemas",
    "streamed",
]
