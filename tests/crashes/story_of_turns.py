"""A conversation as a story: its turns, and those of the agents that it was handed over to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import httpx

from service.bootstrap import look_at_store
from service.core.ids import SessionId
from service.core.json_types import JsonObject
from service.core.kept_heads import head_line
from tests.cases.fake_port import PortCall
from tests.cases.replies import Reply
from tests.cases.strict_llama import Asked
from tests.crashes.client import PersistentClient
from tests.crashes.conversation import Conversation, begin_conversation, last_message
from tests.crashes.judgement import faults_of
from tests.crashes.logs import Logs, family_in, in_order
from tests.crashes.scripts import Scenario, summarise
from tests.crashes.stories import Stage, Told
from tests.crashes.watched_fakes import LONG_TEXT, is_summary


class StoryOfTurns:
    """One conversation with the service."""

    def __init__(self, stage: Stage, mark: str, scenario: Scenario) -> None:
        self.held = scenario.held
        self._stage = stage
        self._scenario = scenario
        self._talk = begin_conversation(mark, scenario.on_busy, scenario.filler)
        stage.llama.converse(mark, partial(_scripted, scenario, self._talk))

    async def begin(self, http: httpx.AsyncClient) -> None:
        await self._client(http).begin(self._talk, self._scenario)

    async def go_on(self, http: httpx.AsyncClient) -> None:
        await self._client(http).go_on(self._talk, self._scenario)

    async def died(self) -> None:
        self._talk.kills += 1

    async def logs(self) -> Sequence[str]:
        if not self._talk.session_id:
            return ()
        return await asyncio.to_thread(family_in, self._stage.service.store, self._talk.session_id)

    async def look(self, http: httpx.AsyncClient) -> Told:
        """Ask once more, then judge the whole conversation; the log is without the last question."""
        client, talk, scenario = self._client(http), self._talk, self._scenario
        if not scenario.cancels:
            await client.decide_again(talk)
        faults = await self._faults_of_rest(client)
        last = await client.run(talk, last_message(talk))
        if last["outcome"] != "answered":
            faults.append(f"the session is dead: {last['outcome']} {last['error']}")
        logs = await client.logs(talk)
        sent = [call for call in self._stage.port.calls if call.body["session"] in logs]
        faults += faults_of(talk, scenario, logs, sent, self._stage.llama.asked_by.pop(talk.mark))
        told = in_order(logs)
        if await client.replayed(talk, told[-1]["pos"]) != told:
            faults.append("the session's stream does not show its logs")
        for record in told:
            if record["type"] == "tool_result" and record["truncated"] and record["name"] == "read_long":
                full = await client.text(f"/sessions/{record['session']}/records/{record['seq']}/full")
                faults += [] if full == LONG_TEXT else ["the whole text of a cut result is not kept"]
        faults += await asyncio.to_thread(self._verify, logs)
        log = [record for record in told if record["turn"] != last["id"]]
        return Told(faults=faults, log=log, sent_again=_sent_again(sent))

    def _client(self, http: httpx.AsyncClient) -> PersistentClient:
        return PersistentClient(http, self._stage.moments)

    async def _faults_of_rest(self, client: PersistentClient) -> list[str]:
        family = await self.logs()
        faults: list[str] = []
        for member in family:
            session = await client.get(f"/sessions/{member}")
            if (session["state"], session["running"], session["queued"]) != ("idle", None, []):
                faults.append(f"a session is {session['state']}, with {session['running']}, {session['queued']}")
        waiting: list[JsonObject] = (await client.get("/approvals"))["items"]
        return [*faults, *(f"a call of {one['session']} waits still" for one in waiting if one["session"] in family)]

    def _verify(self, logs: Logs) -> list[str]:
        faults: list[str] = []
        stored = set(family_in(self._stage.service.store, next(iter(logs))))
        if stored != logs.keys():
            faults.append(f"the store holds sessions that no handoff names: {stored - logs.keys()}")
        with look_at_store(self._stage.service.database_url) as audit:
            for session in map(SessionId, logs):
                verdict = audit.verify(session)
                if verdict is None or verdict.fault is not None:
                    faults.append(f"the log does not verify: {verdict}")
                else:
                    self._stage.heads.append(head_line(session, verdict.head))
        return faults


def _sent_again(sent: Sequence[PortCall]) -> int:
    return len(sent) - len({call.key for call in sent})


def _scripted(scenario: Scenario, talk: Conversation, asked: Asked) -> Reply:
    return summarise(asked, talk) if is_summary(asked) else scenario.script(asked, talk)
