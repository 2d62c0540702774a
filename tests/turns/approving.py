"""What tests of approvals share: a port with tools that ask, and people who decide."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from service.core.decisions import DecisionAsked
from service.core.ids import LOCAL_OWNER
from service.core.records import PendingCall
from service.core.tool_port import AnswerStatus, ToolAnswer
from service.core.views import TurnView
from service.turns.pauses import Decided
from tests.fakes.house import BOUND_S, House
from tests.fakes.tool_port import TablePort, spec

DENIED = '{"approved":false,"error":"denied by human approver"}'
EXPIRED = '{"approved":false,"error":"approval expired"}'


def asking_port() -> TablePort:
    """A port with `pay`, which always asks, and `look`, which never does."""
    return TablePort(spec("pay", needs_approval=True, title="Pay a bill"), spec("look"))


def port_that_asks(tool: str, reason: str = "over 100 euros") -> TablePort:
    """A port that asks for an approval of its own when it is called without one (A1b)."""
    pending = ToolAnswer(status=AnswerStatus.PENDING_APPROVAL, text=reason)
    done = ToolAnswer(status=AnswerStatus.RESULT, text="done")
    return TablePort(
        spec(tool), spec("look"), tools={tool: lambda request: done if request.approval is not None else pending}
    )


def decision(pending: PendingCall, *, approved: bool = True, **other: object) -> DecisionAsked:
    """Decide on a call as it is shown."""
    return DecisionAsked(call=pending.call, approved=approved, digest=pending.digest, **other)  # pyright: ignore[reportArgumentType]


async def decide(house: House, view: TurnView, *decisions: DecisionAsked, by: str = "ann") -> Decided:
    """Send decisions to the turn."""
    return await house.sessions.decide(view.session, view.id, LOCAL_OWNER, decisions, by=by)


async def pending_of(house: House) -> Sequence[PendingCall]:
    """List what waits, over all sessions."""
    return await house.sessions.pending(LOCAL_OWNER)


async def until_end(house: House, view: TurnView) -> TurnView:
    """Follow the turn to its end, over all its pauses, and give it."""
    following = await house.sessions.follow(view.session, LOCAL_OWNER, turn=view.id, after_pos=None)
    assert following is not None  # no cursor stands behind its end
    async with asyncio.timeout(BOUND_S), following:
        async for _ in following:
            pass
    return await house.sessions.turn(view.session, view.id, LOCAL_OWNER)
