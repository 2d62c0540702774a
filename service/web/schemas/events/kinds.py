"""All kinds of events that a stream can bring, read off the unions of the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from service.codec import READING_RECORD_TYPES, RECORD_TYPES
from service.core.reading.records import ReadingRecord
from service.core.reading.signals import ReadingSignal
from service.core.records import Record
from service.core.signals import Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class EventKind:
    """One kind of event: its `type`, the class that is encoded, and whether it is a record or of a reading."""

    type: str
    shape: type[Record | Signal | ReadingRecord | ReadingSignal]
    is_record: bool
    of_reading: bool

    @property
    def name(self) -> str:
        """The name of its schema."""
        told = "".join(word.capitalize() for word in self.type.split("_"))
        if self.of_reading and not told.startswith("Reading"):
            told = f"Reading{told}"
        return told + ("Record" if self.is_record else "Signal")


TURN_RECORDS = tuple(
    EventKind(type=name, shape=shape, is_record=True, of_reading=False) for name, shape in RECORD_TYPES.items()
)
TURN_SIGNALS = tuple(
    EventKind(type=shape.type, shape=shape, is_record=False, of_reading=False) for shape in get_args(Signal)
)
READING_RECORDS = tuple(
    EventKind(type=name, shape=shape, is_record=True, of_reading=True) for name, shape in READING_RECORD_TYPES.items()
)
READING_SIGNALS = tuple(
    EventKind(type=shape.type, shape=shape, is_record=False, of_reading=True) for shape in get_args(ReadingSignal)
)
