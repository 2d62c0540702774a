"""One of the many clients of the soak: it makes a session, does all that clients do, and has the session judged."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from tests.crashes.service_process import ServiceProcess
from tests.soak.client import SoakClient, Stuck
from tests.soak.ledger import Accepted, SessionLedger
from tests.soak.restartable_fakes import TOOLS, SoakLlama, SoakPort

_ACTS_OF_A_SESSION = 12
_SHARE_DELETED = 0.1
_DEFECTS_ENOUGH = 100


class World:
    """What all clients share: the service and its fakes, what was found, and whether it is time to stop."""

    def __init__(self, service: ServiceProcess, llama: SoakLlama, port: SoakPort) -> None:
        self.service = service
        self.llama = llama
        self.port = port
        self.defects: list[str] = []
        self.counts = Counter[str]()
        self.over = asyncio.Event()

    def find(self, what: str) -> None:
        """Keep a defect; when there are very many, there is no use in going on."""
        self.defects.append(what)
        if len(self.defects) >= _DEFECTS_ENOUGH:
            self.over.set()


class Actor:
    """Plays sessions one after the other until it is over."""

    def __init__(self, number: int, world: World, client: SoakClient, chance: random.Random) -> None:
        self._number = number
        self._world = world
        self._client = client
        self._chance = chance
        self._sessions = 0
        self._acts: tuple[tuple[str, Callable[[SessionLedger], Awaitable[None]]], ...] = (
            ("a turn followed", self._follow_one),
            ("a turn followed", self._follow_one),
            ("messages in a queue", self._queue_some),
            ("a queued turn cancelled", self._cancel_queued),
            ("a turn interrupted", self._interrupt),
            ("a turn cancelled", self._cancel),
            ("a client left", self._leave),
            ("a client left and took its turn with it", self._leave_and_cancel),
            ("one key several times at once", self._repeat),
        )

    async def run(self) -> None:
        """Play until it is over; what breaks is a defect, and the next session begins."""
        while not self._world.over.is_set():
            try:
                await self._session()
            except (AssertionError, Stuck) as defect:
                self._world.find(f"client {self._number}: {type(defect).__name__}: {defect}")

    async def _session(self) -> None:
        self._sessions += 1
        name = f"session-{self._number}.{self._sessions}-{self._chance.randrange(1 << 40):x}"
        ledger = await self._client.session(name, self._world.service.starts)
        for _ in range(_ACTS_OF_A_SESSION):
            if self._world.over.is_set():
                break
            what, act = self._chance.choice(self._acts)
            self._world.counts[what] += 1
            await act(ledger)
        if self._chance.random() < _SHARE_DELETED:
            await self._delete(ledger)
        else:
            await self._close(ledger)

    async def _close(self, ledger: SessionLedger) -> None:
        """Wait for the end of all turns, and judge."""
        for one in ledger.accepted:
            if one.seen is None:
                await self._client.follow(ledger, one)
        records = await self._client.records(ledger)
        session = (await self._client.ask("GET", ledger.path)).json()
        if (session["state"], session["running"], session["queued"]) != ("idle", None, []):
            self._world.find(f"{ledger.path} is {session['state']} though all its turns are over")
        sent = self._world.port.sent.pop(ledger.id, [])
        for fault in ledger.faults(records, sent, lives=self._world.service.starts):
            self._world.find(f"{ledger.path}: {fault}")
        self._count(ledger, records)

    async def _delete(self, ledger: SessionLedger) -> None:
        """Delete the session while its turns may run."""
        answer = await self._client.ask("DELETE", ledger.path)
        # A repeat finds that the first one, whose answer was lost, has done it.
        assert answer.status_code in (204, 404), answer.text
        answer = await self._client.ask("GET", ledger.path)
        assert answer.status_code == 404, answer.text
        self._world.counts["sessions deleted"] += 1
        self._forget(ledger)

    def _count(self, ledger: SessionLedger, records: list[dict[str, object]]) -> None:
        counts = self._world.counts
        counts["sessions judged"] += 1
        counts["turns judged"] += len(ledger.accepted)
        for record in records:
            if record["type"] == "turn_finished":
                counts[f"turns {record['outcome']}"] += 1
            elif record["type"] in ("resumed", "attempt"):
                counts[f"{record['type']} records"] += 1
            elif record["type"] == "tool_result":
                counts[f"results {record['status']}"] += 1
        self._forget(ledger)

    def _forget(self, ledger: SessionLedger) -> None:
        self._world.port.sent.pop(ledger.id, None)
        if ledger.accepted:
            self._world.llama.forget(ledger.accepted[0].content)

    def _message(self, ledger: SessionLedger) -> str:
        tools = self._chance.choices(TOOLS, k=self._chance.choice((0, 0, 1, 2)))
        return f"{ledger.name}, message {len(ledger.accepted)}: {' '.join(tools)}"

    async def _send(self, ledger: SessionLedger, on_busy: str = "queue") -> Accepted:
        return await self._client.send(ledger, self._message(ledger), on_busy)

    async def _cancel_turn(self, ledger: SessionLedger, one: Accepted) -> None:
        answer = await self._client.ask("POST", f"{ledger.path}/turns/{one.turn}/cancel")
        assert answer.status_code in (200, 202), answer.text

    async def _pause(self, longest_s: float) -> None:
        await asyncio.sleep(self._chance.random() * longest_s)

    async def _follow_one(self, ledger: SessionLedger) -> None:
        await self._client.follow(ledger, await self._send(ledger))

    async def _queue_some(self, ledger: SessionLedger) -> None:
        for _ in range(self._chance.randint(1, 3)):
            await self._send(ledger)
        await self._client.follow(ledger, await self._send(ledger))

    async def _cancel_queued(self, ledger: SessionLedger) -> None:
        first, second = await self._send(ledger), await self._send(ledger)
        await self._cancel_turn(ledger, second)
        await self._client.follow(ledger, first)

    async def _interrupt(self, ledger: SessionLedger) -> None:
        await self._send(ledger)
        await self._pause(0.3)
        await self._client.follow(ledger, await self._send(ledger, "interrupt"))

    async def _cancel(self, ledger: SessionLedger) -> None:
        one = await self._send(ledger)
        await self._pause(0.3)
        await self._cancel_turn(ledger, one)
        await self._client.follow(ledger, one)

    async def _leave(self, ledger: SessionLedger) -> None:
        await self._client.begin_and_leave(ledger, self._message(ledger), self._chance.randint(1, 12), cancels=False)

    async def _leave_and_cancel(self, ledger: SessionLedger) -> None:
        await self._client.begin_and_leave(ledger, self._message(ledger), self._chance.randint(1, 12), cancels=True)

    async def _repeat(self, ledger: SessionLedger) -> None:
        await self._client.send_at_once(ledger, self._message(ledger), 4)
