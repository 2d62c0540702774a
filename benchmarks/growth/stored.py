"""Logs as the service itself would have written them, put into a store before it starts.

A long session is one that was compacted: a summary stands for all its turns but the last, as in practice, since no
context holds a hundred thousand records. So its prompt is as short as that of a new session.
Above: what is measured. Below: the service's own records and codec.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from service.adapters.system import RandomIds
from service.codec import encode_record
from service.core.baseline import Baseline
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import (
    Assistant,
    CacheLoss,
    CacheLossReason,
    Entry,
    Outcome,
    Record,
    SessionCreated,
    SessionTotals,
    StepUsage,
    Summary,
    TurnFinished,
    TurnOptions,
    User,
)
from service.core.session_status import SessionStatus
from service.core.usage import Timings, UsageTotals
from service.ports import NewSession, RecordDraft, SessionLog

SYSTEM = "You are a helpful assistant."

_OF_TURN = 4
_AROUND_TURNS = 2  # session_created and summary
_AT_ONCE = 4000
_SESSIONS_AT_ONCE = 1000
_TOKENS = 16
_ANSWER = " ".join(f"T{1_000_000 + token:015d}.{token}E" for token in range(_TOKENS))
_COST = UsageTotals(prompt_tokens=31, cached_tokens=30, completion_tokens=_TOKENS, completions=1)
_TIMINGS = Timings(prompt_ms=25.2, predicted_ms=49.3, prompt_per_second=277.4, predicted_per_second=121.7)


async def store_long_session(log: SessionLog, records: int) -> SessionId:
    """Store a session of exactly so many records, 10 or more, the last of them a summary; gives its id."""
    session, now = RandomIds().session(), datetime.now(UTC)
    drafts = [_draft(entry) for entry in _entries(session, now, records)]
    status = SessionStatus(usage=_times(_COST, (records - _AROUND_TURNS) // _OF_TURN), used_tokens=200)
    await log.create_session(new_session(session, now), drafts[:1], status)
    for place in range(1, records, _AT_ONCE):
        await log.append(session, place, drafts[place : place + _AT_ONCE], status, now)
    return session


async def store_sessions(log: SessionLog, sessions: int) -> Sequence[SessionId]:
    """Store so many sessions of one turn each, 5 records; gives their ids, oldest first."""
    ids, made = RandomIds(), list[SessionId]()
    now, template, turn = datetime.now(UTC), ids.session(), ids.turn()
    entries = [_created(template, now), *_turn(template, turn, now, 1, losses=0)]
    drafts = [_draft(entry) for entry in entries]
    status = SessionStatus(usage=_COST, used_tokens=_COST.prompt_tokens + _COST.completion_tokens)
    for begin in range(0, sessions, _SESSIONS_AT_ONCE):
        some = [ids.session() for _ in range(min(_SESSIONS_AT_ONCE, sessions - begin))]
        # Ids are of one length and stand nowhere else, so that each need not be encoded anew.
        names = [{template: session, turn: ids.turn()} for session in some]
        copies = [[_copied(draft, of_session) for draft in drafts] for of_session in names]
        await asyncio.gather(
            *(
                log.create_session(new_session(session, now), copy, status)
                for session, copy in zip(some, copies, strict=True)
            )
        )
        made += some
    return made


def new_session(session: SessionId, now: datetime) -> NewSession:
    """Give what the store is told of a session when it is made."""
    return NewSession(id=session, owner=LOCAL_OWNER, title="", metadata={}, agent=None, parent=None, created_at=now)


def turn_drafts(session: SessionId) -> Sequence[RecordDraft]:
    """Give the records of a turn, 5 as with lost cache, as they are appended behind `session_created`."""
    return [_draft(entry) for entry in _turn(session, RandomIds().turn(), datetime.now(UTC), 1, losses=1)]


def _entries(session: SessionId, now: datetime, records: int) -> Iterator[Entry]:
    yield _created(session, now)
    # What doesn't divide evenly is told of as lost cache, which a turn may have or not.
    turns, left = divmod(records - _AROUND_TURNS, _OF_TURN)
    ids, seq, covers = RandomIds(), 2, 0
    for number in range(1, turns + 1):
        covers = seq - 1
        for entry in _turn(session, ids.turn(), now, number, losses=left if number == 1 else 0, seq=seq):
            yield entry
            seq += 1
    summary = Summary(covers=covers, text="They talked about numbers.", tokens_before=6000, tokens_after=200)
    yield Entry(session=session, turn=None, seq=seq, time=now, record=summary)


def _created(session: SessionId, now: datetime) -> Entry:
    record = SessionCreated(agent=None, baseline=Baseline(system=SYSTEM))
    return Entry(session=session, turn=None, seq=1, time=now, record=record)


def _turn(
    session: SessionId, turn: TurnId, now: datetime, number: int, *, losses: int, seq: int = 2
) -> Iterator[Entry]:
    for place, record in enumerate(_turn_records(number, losses=losses), start=seq):
        yield Entry(session=session, turn=turn, seq=place, time=now, record=record)


def _turn_records(number: int, *, losses: int) -> Iterator[Record]:
    yield User(content=f"Tell me sixteen numbers, please, for the {number}. time.", options=TurnOptions())
    yield Assistant(step=1, content=_ANSWER, reasoning="", finish_reason="stop")
    yield StepUsage(
        step=1,
        prompt_tokens=_COST.prompt_tokens,
        cached_tokens=_COST.cached_tokens,
        completion_tokens=_COST.completion_tokens,
        reasoning_tokens=0,
        timings=_TIMINGS,
    )
    for _ in range(losses):
        reason = CacheLossReason.SLOT_TAKEN
        yield CacheLoss(step=1, expected_tokens=300, cached_tokens=30, lost_tokens=270, reason=reason)
    totals = SessionTotals(usage=_times(_COST, number))
    yield TurnFinished(outcome=Outcome.ANSWERED, content=_ANSWER, steps=1, usage=_COST, totals=totals)


def _times(usage: UsageTotals, number: int) -> UsageTotals:
    return UsageTotals(
        prompt_tokens=usage.prompt_tokens * number,
        cached_tokens=usage.cached_tokens * number,
        completion_tokens=usage.completion_tokens * number,
        completions=usage.completions * number,
    )


def _draft(entry: Entry) -> RecordDraft:
    return RecordDraft(turn=entry.turn, type=entry.record.type, body=encode_record(entry))


def _copied(draft: RecordDraft, names: dict[SessionId | TurnId, SessionId | TurnId]) -> RecordDraft:
    body = draft.body
    for old, new in names.items():
        body = body.replace(old.encode(), new.encode())
    turn = None if draft.turn is None else TurnId(names[draft.turn])
    return RecordDraft(turn=turn, type=draft.type, body=body)
