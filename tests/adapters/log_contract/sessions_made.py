"""Sessions and records with no meaning beyond their form: a store looks into neither."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from service.adapters.system import RandomIds
from service.core.ids import LOCAL_OWNER, OwnerId, SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.records import ParentLink
from service.core.session_status import SessionState, SessionStatus
from service.core.usage import UsageTotals
from service.ports import NewSession, RecordDraft, SessionLog, StoredRecord

START = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
LATER = START + timedelta(minutes=5)
IDLE = SessionStatus()
TURN = TurnId("trn_1")
EVERY_FIELD = SessionStatus(
    state=SessionState.AWAITING_APPROVAL,
    running=TURN,
    queued=(TurnId("trn_2"), TurnId("trn_3")),
    usage=UsageTotals(
        prompt_tokens=1, cached_tokens=2, completion_tokens=3, reasoning_tokens=4, completions=5, tool_calls=6
    ),
    used_tokens=7,
)
"""A status in which no field has its default."""

_IDS = RandomIds()


def running(turn: TurnId = TURN) -> SessionStatus:
    return SessionStatus(state=SessionState.RUNNING, running=turn)


def new_session(
    session: str | None = None,
    *,
    owner: OwnerId = LOCAL_OWNER,
    title: str = "",
    metadata: JsonObject | None = None,
    agent: str | None = None,
    parent: ParentLink | None = None,
) -> NewSession:
    return NewSession(
        id=_IDS.session() if session is None else SessionId(session),
        owner=owner,
        title=title,
        metadata=metadata or {},
        agent=agent,
        parent=parent,
        created_at=START,
    )


def draft(
    body: bytes = b"{}", *, record_type: str = "user", turn: TurnId | None = TURN, full: bytes | None = None
) -> RecordDraft:
    return RecordDraft(turn=turn, type=record_type, body=body, full=full)


def drafts(*record_types: str, turn: TurnId | None = TURN) -> Sequence[RecordDraft]:
    return [
        draft(f'{{"n":{number}}}'.encode(), record_type=name, turn=turn) for number, name in enumerate(record_types)
    ]


async def make(log: SessionLog, session: NewSession | None = None, created: bytes = b'{"made":true}') -> SessionId:
    """Make a session whose log has its first record only."""
    session = session or new_session()
    await log.create_session(session, [draft(created, record_type="session_created", turn=None)], IDLE)
    return session.id


async def make_child(log: SessionLog, parent: SessionId) -> SessionId:
    return await make(log, new_session(parent=ParentLink(session=parent, turn=TURN, call=1)))


async def append(
    log: SessionLog,
    session: SessionId,
    expected_seq: int,
    records: Sequence[RecordDraft] | None = None,
    status: SessionStatus = IDLE,
) -> Sequence[StoredRecord]:
    return await log.append(session, expected_seq, [draft()] if records is None else records, status, LATER)


def seqs(records: Sequence[StoredRecord]) -> list[int]:
    return [record.seq for record in records]
