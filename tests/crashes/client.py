"""A client that does not give up: what it did is done again with the same keys, and streams go on at their cursor."""

from __future__ import annotations

import asyncio

import httpx

from service.core.json_types import JsonObject
from tests.crashes.conversation import Conversation, Decision, Message, decision_on
from tests.crashes.kill_points import Moments
from tests.crashes.logs import Logs
from tests.crashes.scripts import Scenario
from tests.live.client import frames_of

JSON = {"Accept": "application/json"}
BOUND_S = 30


class PersistentClient:
    """Plays one conversation against one life of the service; a lost connection is a `TransportError`."""

    def __init__(self, http: httpx.AsyncClient, moments: Moments) -> None:
        self._http = http
        self._moments = moments

    async def begin(self, conversation: Conversation, scenario: Scenario) -> None:
        """Play it for the first time: the first turn's stream is read while the other messages are sent."""
        await self._make_session(conversation)
        first, *others = conversation.messages
        accepted = asyncio.Event()
        following = asyncio.create_task(self._post_and_follow(conversation, first, accepted), name="first stream")
        try:
            if scenario.held is not None:
                # A stream that has ended or broken comes to no hold.
                holding = asyncio.create_task(_both(accepted, self._moments.reached), name="held")
                await asyncio.wait({following, holding}, return_when=asyncio.FIRST_COMPLETED)
                holding.cancel()
            for message in others:
                await self._send(conversation, message)
            if scenario.cancels:
                await self._cancel(first)
            self._moments.release.set()
            await following
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        await self._follow_all(conversation, scenario)

    async def go_on(self, conversation: Conversation, scenario: Scenario) -> None:
        """Do it all again: what was done already must have been kept."""
        await self._make_session(conversation)
        for message in conversation.messages:
            await self._send(conversation, message)
        if scenario.cancels:
            await self._cancel(conversation.messages[0])
        else:
            await self.decide_again(conversation)
        await self._follow_all(conversation, scenario)

    async def _follow_all(self, conversation: Conversation, scenario: Scenario) -> None:
        for message in conversation.messages:
            await self._follow(conversation, message)
        if scenario.compacts:
            await self._compact(conversation)

    async def run(self, conversation: Conversation, message: Message) -> JsonObject:
        """Run a turn to its end."""
        answer = await self._http.post(
            f"{conversation.session}/turns", json=message.body, headers=_keyed(message, JSON)
        )
        assert answer.status_code == 200, answer.text
        message.turn = answer.headers["content-location"]
        return answer.json()

    async def get(self, path: str) -> JsonObject:
        """Get a resource."""
        answer = await self._http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def text(self, path: str) -> str:
        """Get a plain text."""
        answer = await self._http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def logs(self, conversation: Conversation) -> Logs:
        """Read the whole logs of the session and of those that it was handed over to, its own first."""
        logs: Logs = {}
        wanted = [conversation.session_id]
        while wanted:
            session = wanted.pop()
            if records := await self._records(session):
                logs[session] = records
                wanted += [record["child"]["session"] for record in records if record["type"] == "handoff_started"]
        return logs

    async def _records(self, session: str) -> list[JsonObject]:
        records: list[JsonObject] = []
        while True:
            answer = await self._http.get(f"/sessions/{session}/records?limit=200&after={len(records)}")
            if answer.status_code == 404:
                return []
            page: list[JsonObject] = answer.json()["items"]
            if not page:
                return records
            records += page

    async def replayed(self, conversation: Conversation, last_pos: int) -> list[JsonObject]:
        """Follow the session from its beginning until this record has come."""
        seen: list[JsonObject] = []
        async with self._http.stream("GET", f"{conversation.session}/events") as answer:
            async for frame in frames_of(answer):
                if frame.id is not None:
                    seen.append(frame.data)
                if frame.id == last_pos:
                    return seen
        raise AssertionError("the session's stream has ended")

    async def decide_again(self, conversation: Conversation) -> None:
        """Send all decisions once more, also those that were never answered: each is taken once."""
        for decision in list(conversation.decisions.values()):
            await self._send_decision(decision)

    async def _make_session(self, conversation: Conversation) -> None:
        headers = {"Idempotency-Key": conversation.mark}
        created = await self._http.post("/sessions", json={"system": conversation.mark}, headers=headers)
        assert created.status_code == 201, created.text
        location = created.headers["location"]
        assert conversation.session in (None, location), "the same key made another session"
        conversation.session = location
        await self._moments.passed("created")

    async def _post_and_follow(self, conversation: Conversation, message: Message, accepted: asyncio.Event) -> None:
        address = f"{conversation.session}/turns"
        async with self._http.stream("POST", address, json=message.body, headers=_keyed(message)) as answer:
            assert answer.status_code == 200, await answer.aread()
            await self._accepted(message, answer)
            accepted.set()
            await self._read(answer, conversation, message)

    async def _send(self, conversation: Conversation, message: Message) -> None:
        headers = _keyed(message, {"Prefer": "respond-async"})
        answer = await self._http.post(f"{conversation.session}/turns", json=message.body, headers=headers)
        assert answer.status_code == 202, answer.text
        await self._accepted(message, answer)

    async def _accepted(self, message: Message, answer: httpx.Response) -> None:
        turn = answer.headers["content-location"]
        assert message.turn in (None, turn), "the same key started another turn"
        message.turn = turn
        await self._moments.passed("accepted")

    async def _cancel(self, message: Message) -> None:
        answer = await self._http.post(f"{message.turn}/cancel")
        assert answer.status_code in (200, 202), answer.text
        if message.cancelled is None:
            message.cancelled = answer.json()
        await self._moments.passed("cancelled")

    async def _compact(self, conversation: Conversation) -> None:
        answer = await self._http.post(f"{conversation.session}/compact")
        assert answer.status_code == 200, answer.text
        await self._moments.passed("compacted")

    async def _decide(self, conversation: Conversation, message: Message) -> None:
        """Decide on all that the turn waits for, one decision at a time."""
        waiting = (await self.get(f"{message.turn}"))["pending"]
        if not waiting:
            return
        listed = (await self.get("/approvals"))["items"]
        assert all(pending in listed for pending in waiting), f"{waiting} are not all listed in {listed}"
        await self._moments.passed("waiting")
        for pending in waiting:
            if message.cancelled is not None:
                return
            decision = decision_on(pending, f"{message.turn}")
            key = (decision.session, decision.body["call"])
            assert conversation.decisions.get(key) is None, f"call {key} waits again"
            conversation.decisions[key] = decision
            await self._send_decision(decision)

    async def _send_decision(self, decision: Decision) -> None:
        headers = {"Idempotency-Key": decision.key, "Prefer": "respond-async"}
        body = {"decisions": [decision.body]}
        answer = await self._http.post(f"{decision.turn}/decisions", json=body, headers=headers)
        assert answer.status_code in (200, 202), answer.text
        await self._moments.passed("decided")

    async def _follow(self, conversation: Conversation, message: Message) -> None:
        if message.is_over:
            return
        await self._decide(conversation, message)
        headers = {"Last-Event-ID": str(message.frames[-1][0])} if message.frames else {}
        async with self._http.stream("GET", f"{message.turn}/events", headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            await self._read(answer, conversation, message)
        assert message.is_over, "the stream ended before the turn"

    async def _read(self, answer: httpx.Response, conversation: Conversation, message: Message) -> None:
        async for frame in frames_of(answer):
            if frame.id is not None:
                message.frames.append((frame.id, frame.data))
            await self._moments.passed(f"shown: {frame.event}")
            if frame.event == "approval_requested":
                await self._decide(conversation, message)


def _keyed(message: Message, others: dict[str, str] | None = None) -> dict[str, str]:
    return {"Idempotency-Key": message.key, **(others or {})}


async def _both(one: asyncio.Event, other: asyncio.Event) -> None:
    await one.wait()
    await other.wait()
