"""Logs with approvals, as the service writes them, for whoever verifies them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.codec import encode_record
from service.core.approvals import digest_of
from service.core.baseline import Baseline
from service.core.chain import Head
from service.core.decision_signature import ApproverKeys, sign_decision
from service.core.ids import SessionId, TurnId
from service.core.records import (
    ApprovalDecided,
    ApprovalRequested,
    Entry,
    PendingCall,
    Record,
    SessionCreated,
    ToolCallStarted,
)
from service.core.verification import KeptRecord
from tests.core.written_logs import SESSION, TIME, Log, hashed

TURN = TurnId("trn_1")
ARGUMENTS = '{"to": "mail@example.org"}'
ALICE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
BOB = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
KEYS = ApproverKeys({"alice": ALICE.public_key().public_bytes_raw(), "bob": BOB.public_key().public_bytes_raw()})
CREATED = SessionCreated(agent=None, baseline=Baseline())


def pending(
    call: int, *, session: SessionId = SESSION, turn: TurnId = TURN, arguments: str = ARGUMENTS, digest: str = ""
) -> PendingCall:
    """Ask about a call of send_mail; its digest is right unless another one is given."""
    own = digest_of(session, turn, call, f"c{call}", "send_mail", arguments)
    return PendingCall(
        session=session,
        turn=turn,
        call=call,
        tool_call_id=f"c{call}",
        name="send_mail",
        title="Send mail",
        arguments=arguments,
        digest=digest or own,
        reason="This tool always asks for an approval.",
        asked_at=TIME,
    )


def asked(*calls: PendingCall) -> ApprovalRequested:
    return ApprovalRequested(calls=calls)


def decided(
    on: PendingCall, *, approved: bool = True, arguments: str | None = None, by: Ed25519PrivateKey | None = ALICE
) -> ApprovalDecided:
    """Decide on a call, signed by alice's key unless another one or none is given."""
    signature = None if by is None else sign_decision(by, "alice", on.digest, approved=approved, arguments=arguments)
    return ApprovalDecided(
        call=on.call, approved=approved, digest=on.digest, arguments=arguments, by="alice", signature=signature
    )


def sent(call: int, arguments: str = ARGUMENTS, name: str = "send_mail") -> ToolCallStarted:
    return ToolCallStarted(call=call, tool_call_id=f"c{call}", name=name, arguments=arguments)


def log_of(
    *records: Record, session: SessionId = SESSION, at: datetime = TIME, turns: Sequence[TurnId] = (TURN,)
) -> Log:
    """Write a log of these records behind its `session_created`; the first are of the first of `turns`, and so on."""
    whole = records if isinstance(records[0], SessionCreated) else (CREATED, *records)
    kept: list[KeptRecord] = []
    for seq, record in enumerate(whole, start=1):
        turn = None if seq == 1 else turns[min(seq - 2, len(turns) - 1)]
        body = encode_record(Entry(session=session, turn=turn, seq=seq, time=at, record=record))
        kept.append(KeptRecord(turn=turn, type=record.type, seq=seq, pos=seq, body=body, hash=b"", full=None))
    chained = hashed(kept)
    return Log(session=session, head=Head(seq=len(chained), hash=chained[-1].hash), records=chained)
