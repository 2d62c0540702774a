"""The bodies of a reading's records, as the check of what they say to each other takes them (R8)."""

from __future__ import annotations

from service.codec import UnreadableRecord, decode_reading_record
from service.core.json_types import JsonObject
from service.core.reading.trail import ReadingTrail
from service.core.verification import BodyCheck, Fault, FaultKind, KeptRecord


def bodies_of(trail: ReadingTrail) -> BodyCheck:
    """Have a trail look at bodies (R8)."""

    def fault_of(record: KeptRecord, _members: JsonObject) -> Fault | None:
        try:
            what = trail.fault_of(decode_reading_record(record.body).record)
        except UnreadableRecord as error:
            return Fault(seq=record.seq, kind=FaultKind.BODY, what=str(error))
        return None if what is None else Fault(seq=record.seq, kind=FaultKind.READING, what=what)

    return fault_of
