"""What tests look at in the log of a turn, and a second start of the service over the same log."""

from __future__ import annotations

from service.core.ids import LOCAL_OWNER, SessionId
from service.core.records import ToolResult, TurnFinished
from service.core.views import TurnView
from tests.fakes.clock import CountingIds, SteppingClock
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama


class LaterIds(CountingIds):
    """Ids of a second process: they don't meet those of the first."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 1000


async def results_of(house: House, session: SessionId) -> list[ToolResult]:
    """Give the results of the session's calls, in call order."""
    results = [record for record in await house.records(session) if isinstance(record, ToolResult)]
    return sorted(results, key=lambda result: result.call)


async def end_of(house: House, session: SessionId) -> TurnFinished:
    """Give the end of the session's last turn, which is the last record there is."""
    end = (await house.records(session))[-1]
    assert isinstance(end, TurnFinished)
    return end


async def restarted(house: House, llama: ScriptedLlama, clock: SteppingClock | None = None) -> House:
    """Stop the service where it is, and start a second one over its log, which goes on with what was open."""
    await house.sessions.shut_down(0)
    if house.port is not None and house.port.hold is not None:
        house.port.hold.set()
    second = House(llama, house.port, log=house.log, ids=LaterIds(), clock=clock)
    await second.sessions.resume_unfinished()
    return second


async def last_turn(house: House, session: SessionId) -> TurnView:
    """Wait for the end of the session's last turn."""
    turns = await house.sessions.turns(session, LOCAL_OWNER)
    return await house.finish(session, turns[-1].id)
