"""The whole text of a tool result, whether the model was shown all of it or not (T9)."""

from __future__ import annotations

from service.codec import decode_record
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import SessionId
from service.core.records import ToolResult
from service.ports import SessionLog


async def whole_result(log: SessionLog, session: SessionId, seq: int) -> str:
    """Give the whole text of the tool result at this `seq`.

    Raises:
        RequestRefused: there is no such record, or it is no tool result.
    """
    found = await log.read(session, after_seq=seq - 1, limit=1)
    if not found or found[0].seq != seq:
        raise RequestRefused(ProblemCode.NOT_FOUND, f"There is no record {seq} in this session.")
    record = decode_record(found[0].body).record
    if not isinstance(record, ToolResult):
        detail = f"Record {seq} is of type {record.type!r}; only a tool_result has a full text."
        raise RequestRefused(ProblemCode.NOT_FOUND, detail)
    kept = await log.full_text(session, seq)
    # Nothing is kept of a result that was not cut, nor of an answer too long to be read to its end.
    return record.content if kept is None else kept.decode()
