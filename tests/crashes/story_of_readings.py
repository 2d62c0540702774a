"""A reading as a story."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import httpx

from service.bootstrap import look_at_store
from service.core.ids import ReadingId, SessionId
from service.core.json_types import JsonObject
from service.core.kept_heads import head_line
from tests.crashes.client import BOUND_S
from tests.crashes.judgement_of_readings import Death, faults_of_asking, faults_of_reading
from tests.crashes.reading_client import Reading, ReadingClient
from tests.crashes.scenarios_of_readings import ReadingScenario
from tests.crashes.stored_readings import hidden_in, reading_ids_in, stored_reading
from tests.crashes.stories import Stage, Told

WHOLE_MARK = "plan-0"
"""What a reading is known by in which nothing is killed."""


class StoryOfReading:
    """One reading by the service; `name` is that of its scenario."""

    def __init__(self, stage: Stage, mark: str, name: str, scenario: ReadingScenario) -> None:
        self.held = scenario.held
        self._stage = stage
        self._name = name
        self._scenario = scenario
        self._reading = Reading(mark, scenario)
        self._deaths: list[Death] = []
        stage.llama.read(mark, scenario.reads)

    async def begin(self, http: httpx.AsyncClient) -> None:
        await ReadingClient(http, self._stage.moments).begin(self._reading)

    async def go_on(self, http: httpx.AsyncClient) -> None:
        await ReadingClient(http, self._stage.moments).go_on(self._reading)

    async def died(self) -> None:
        finished: set[str] = set()
        for reading in await self.logs():
            finished |= set((await asyncio.to_thread(stored_reading, self._store, reading)).finished())
        asked = len(self._stage.llama.sections_of[self._reading.mark])
        self._deaths.append(Death(asked=asked, finished=frozenset(finished)))

    async def logs(self) -> Sequence[str]:
        return await asyncio.to_thread(reading_ids_in, self._store, self._reading.mark)

    async def look(self, http: httpx.AsyncClient) -> Told:
        """Ask for it once more with its key, then judge it beside one in which nothing was killed."""
        client, reading = ReadingClient(http, self._stage.moments), self._reading
        again = await client.post(reading, Accept="application/json")
        other = await client.post(reading, query=f"{reading.mark}: who?", Accept="application/json")
        view = await client.get(f"/readings/{reading.id}")
        replayed = await client.replayed(f"/readings/{reading.id}")
        whole = await self._whole(client)
        stored = await asyncio.to_thread(stored_reading, self._store, reading.id)
        faults = list(faults_of_reading(reading, stored.records, whole, view))
        faults += faults_of_asking(self._stage.llama.sections_of.pop(reading.mark), self._deaths)
        if (again.status_code, again.json()) != (200, view):
            faults.append(f"its key gives another answer: {again.text}")
        if other.status_code != 422:
            faults.append(f"another question with its key is answered {other.status_code}")
        if replayed != reading.frames or any(pos != data["pos"] for pos, data in replayed):
            faults.append("its stream does not show again what it has shown")
        faults += await self._faults_of_store()
        counted = Counter({f"readings {view['outcome']}": 1, "chunks finished before a kill": self._finished()})
        return Told(faults=faults, log=[data for _, data in replayed], counted=counted)

    @property
    def _store(self) -> Path:
        return self._stage.service.store

    def _finished(self) -> int:
        return sum(len(death.finished) for death in self._deaths)

    async def _whole(self, client: ReadingClient) -> list[JsonObject]:
        """Give the log of the same reading in which nothing is killed: read once, all at once, for each store."""
        wholes = self._stage.wholes
        if self._name not in wholes:
            whole = Reading(WHOLE_MARK, self._scenario)
            self._stage.llama.read(WHOLE_MARK, self._scenario.reads)
            key = {"Idempotency-Key": f"whole-{len(wholes)}"}
            answer = await client.post(whole, Accept="application/json", **key)
            assert answer.status_code == 200, answer.text
            self._stage.llama.sections_of.pop(WHOLE_MARK)
            read = await asyncio.to_thread(stored_reading, self._store, answer.json()["id"])
            wholes[self._name] = list(read.records)
        return wholes[self._name]

    async def _faults_of_store(self) -> list[str]:
        found = await self.logs()
        faults = [] if found == [self._reading.id] else [f"its key began {found}"]
        async with asyncio.timeout(BOUND_S):
            # A start removes what a killed request had begun to keep, beside all else.
            while await asyncio.to_thread(hidden_in, self._store):
                pass
        return faults + await asyncio.to_thread(self._verify)

    def _verify(self) -> list[str]:
        with look_at_store(self._stage.service.database_url) as audit:
            faults = [f"the store holds {what}" for what in audit.homeless()]
            verdict = audit.verify_reading(ReadingId(self._reading.id))
        if verdict is None or verdict.fault is not None:
            return [*faults, f"the log does not verify: {verdict}"]
        self._stage.heads.append(head_line(SessionId(self._reading.id), verdict.head))
        return faults
