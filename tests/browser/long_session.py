"""A session of very many turns: the records of one that was run, again and again, put straight into the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from service.adapters.log_sql import open_sql_log
from service.codec import decode_record, encode_record
from service.core.ids import SessionId, TurnId
from service.core.records import Entry
from service.core.turn_fold import fold
from service.core.turn_view import session_status
from service.ports import RecordDraft

_AT_ONCE = 1000


async def repeat_turn(folder: Path, path: str, times: int) -> None:
    """Give a session, which has one turn and is served by nobody now, that turn so many more times.

    The store is that of `service_over` in this folder; `path` is the session's. The sums in each copy are those of the
    turn that was run.
    """
    session = SessionId(path.rpartition("/")[2])
    async with open_sql_log(f"sqlite:///{(folder / 'store.db').as_posix()}") as store:
        begun = [decode_record(record.body) for record in await store.read(session)]
        row = await store.session(session)
        assert row is not None
        whole, drafts = await asyncio.to_thread(_repeated, begun, times)
        status = session_status(fold(whole, used_tokens=row.status.used_tokens))
        for start in range(0, len(drafts), _AT_ONCE):
            part = drafts[start : start + _AT_ONCE]
            await store.append(session, len(begun) + start, part, status, begun[-1].time)


def _repeated(begun: Sequence[Entry], times: int) -> tuple[Sequence[Entry], Sequence[RecordDraft]]:
    """Give all entries then, and those to append."""
    turn = [entry for entry in begun if entry.turn is not None]
    ids = [TurnId(f"trn_{number:032x}") for number in range(1, times + 1)]
    copies = [replace(entry, turn=turn_id) for turn_id in ids for entry in turn]
    more = [replace(entry, seq=seq) for seq, entry in enumerate(copies, start=len(begun) + 1)]
    drafts = [RecordDraft(turn=entry.turn, type=entry.record.type, body=encode_record(entry)) for entry in more]
    return [*begun, *more], drafts
