"""What must hold of handoffs: each child is one call's, and ends before that call does (G2, T13)."""

from __future__ import annotations

from service.core.ids import SessionId
from service.core.records import HandoffReturned, HandoffStarted, Outcome, ParentLink, ToolResult, TurnFinished, User
from tests.conversations.played import Played, PlayedSession


def judge_handoffs(played: Played) -> None:
    """Check how sessions hang together."""
    by_id = {session.id: session for session in played.sessions}
    named: set[SessionId] = set()
    for session in played.sessions:
        named |= {child.id for child in _children(session, by_id)}
    assert named == set(by_id) - {played.sessions[0].id}, "a session that no handoff made"


def _children(parent: PlayedSession, by_id: dict[SessionId, PlayedSession]) -> list[PlayedSession]:
    began: dict[int, tuple[HandoffStarted, bool]] = {}
    children: list[PlayedSession] = []
    is_untrusted, turn = parent.created.untrusted, None
    for entry, position in zip(parent.entries, parent.positions, strict=True):
        match entry.record:
            case User():
                turn = entry.turn
            case ToolResult(untrusted=untrusted):
                is_untrusted = is_untrusted or untrusted
            case HandoffStarted(call=call) as started:
                assert not began, "two handoffs at the same time"
                began[call] = (started, is_untrusted)
            case HandoffReturned(call=call) as returned:
                started, was_untrusted = began.pop(call)
                assert turn is not None
                assert entry.turn == turn
                assert returned.child == started.child
                child = by_id.get(started.child.session)
                if child is not None:
                    children.append(child)
                    assert child.created.parent == ParentLink(session=parent.id, turn=turn, call=call)
                    assert child.created.depth == parent.created.depth + 1
                    assert child.created.untrusted is was_untrusted
                    _ended_before(child, started, returned, position)
            case TurnFinished():
                assert not began, "a turn ended before what it had handed over"
            case _:
                pass
    assert not began
    return children


def _ended_before(child: PlayedSession, started: HandoffStarted, returned: HandoffReturned, position: int) -> None:
    turns = {entry.turn for entry in child.entries if entry.turn is not None}
    assert turns == {started.child.turn}, f"a child has the turns {turns}"
    last = child.entries[-1].record
    assert isinstance(last, TurnFinished)
    assert child.positions[-1] < position, f"{child.id} ended behind its parent's call"
    # A parent that is ended in the same moment does not wait for what its child has to say.
    told = (last.outcome, Outcome.CANCELLED)
    assert returned.outcome in told, f"the child ended as {last.outcome}, returned was {returned.outcome}"
