"""Turns that were in their middle when the process ended: what an upgrade in the middle meets (S4, S6)."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from service.adapters.log_sql import open_sql_log
from service.ports import SessionLog
from service.turns.requests import OnBusy
from tests.fakes.clock import CountingIds
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec


class IdsFrom(CountingIds):
    """Ids that begin at a number of their own, so that houses over one log don't meet."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self._count = first


async def write_unfinished(path: Path) -> str:
    """Leave a turn of each kind in its middle, and give the database as SQL as it was then."""
    async with open_sql_log(f"sqlite:///{path}") as log:
        houses = [await _call_in_flight(log), await _text_in_flight(log), await _waiting_for_a_person(log)]
        with sqlite3.connect(path) as connection:
            dump = "\n".join(connection.iterdump())
        for house in houses:
            await house.sessions.shut_down(0)
    return dump


async def _call_in_flight(log: SessionLog) -> House:
    port = TablePort(spec("pay"))
    port.hold = asyncio.Event()
    house = House(ScriptedLlama(ask_for(call("pay"))), port, log=log, ids=IdsFrom(100))
    await house.start(await house.session(title="call in flight"), "Pay the bill.")
    await port.arrived.wait()
    return house


async def _text_in_flight(log: SessionLog) -> House:
    """Leave a turn behind it that waits for its end, too."""
    half = say("Once", before_end=asyncio.Event())
    house = House(ScriptedLlama(half), log=log, ids=IdsFrom(200))
    session = await house.session(title="text in flight")
    await house.start(session, "A story, please.")
    await half.streaming.wait()
    await house.start(session, "Go on.", on_busy=OnBusy.QUEUE)
    return house


async def _waiting_for_a_person(log: SessionLog) -> House:
    port = TablePort(spec("delete", needs_approval=True))
    house = House(ScriptedLlama(ask_for(call("delete"))), port, log=log, ids=IdsFrom(300))
    await house.run(await house.session(title="waiting for a person"), "Delete it.")
    return house
