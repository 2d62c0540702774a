"""What the loop needs from outside, as protocols. Adapters and fakes implement them; nothing else is assumed."""

from service.ports.meter import Meter
from service.ports.model_server import Llama, ServerFacts, Take
from service.ports.reading_log import NewReading, ReadingDraft, ReadingLog, ReadingRow, StoredReadingRecord
from service.ports.session_log import NewSession, RecordDraft, SessionLog, SessionRow, StoredRecord
from service.ports.surroundings import Clock, Ids
from service.ports.tool_port import ToolPort
from service.ports.tracer import Tracer

__all__ = [
    "Clock",
    "Ids",
    "Llama",
    "Meter",
    "NewReading",
    "NewSession",
    "ReadingDraft",
    "ReadingLog",
    "ReadingRow",
    "RecordDraft",
    "ServerFacts",
    "SessionLog",
    "SessionRow",
    "StoredReadingRecord",
    "StoredRecord",
    "Take",
    "ToolPort",
    "Tracer",
]
