"""The real program is told to stop with many streams open and many turns running: it ends in time, nothing is lost."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cli.whole_program import JSON, PATIENCE_S, Program, running
from tests.web.serving import Frame, frames_of, within_bound

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H8")]

DRAIN_S = 3
# What the program may take after its drain, and as much again for a machine that is busy with other things.
BOUND_S = DRAIN_S + 5 + PATIENCE_S
ANSWER = "It took a while."


@dataclass
class Reader:
    """A client that reads one stream to its end."""

    method: str
    path: str
    asked: JsonObject | None = None
    frames: list[Frame] = field(default_factory=list[Frame])
    joined: asyncio.Event = field(default_factory=asyncio.Event)
    told: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self, http: httpx.AsyncClient) -> None:
        """Read until the stream ends."""
        self._task = asyncio.create_task(self._read(http), name=self.path)

    async def end(self) -> None:
        """Wait for that; it fails if the stream was cut off."""
        async with asyncio.timeout(BOUND_S):
            await self._task

    async def _read(self, http: httpx.AsyncClient) -> None:
        async with http.stream(self.method, self.path, json=self.asked) as response:
            assert response.status_code == 200, response.status_code
            async for frame in frames_of(response):
                self.frames.append(frame)
                self.joined.set()
                if frame.field("event") == "shutting_down":
                    self.told.set()


async def counted(event: asyncio.Event, count: Callable[[], int], least: int) -> None:
    """Wait until there are so many; `event` is set with each."""
    async with asyncio.timeout(BOUND_S):
        while count() < least:
            event.clear()
            await event.wait()


def posted(program: Program, session: str, content: str, **asked: object) -> asyncio.Task[httpx.Response]:
    """Send a message and wait for the turn as JSON."""
    body = {"content": content, **asked}
    return asyncio.create_task(program.http.post(f"{session}/turns", json=body, headers=JSON), name=content)


SOON = [f"Soon {number}" for number in range(4)]
LATER = [f"Later {number}" for number in range(4)]
TOOLS = ["once", "again"]


class Busy:
    """Ten turns: four end when `soon` is set, four hang at the model and two in a tool until the program is gone."""

    def __init__(self) -> None:
        self.soon = asyncio.Event()
        self.llama = StrictLlama(slots=16)
        self.port = FakePort(open_spec("once"), open_spec("again", idempotent=True))
        self.port.held = set(TOOLS)
        for question in SOON:
            self.llama.play(question, say(ANSWER, hold=self.soon))
        for question in LATER:
            self.llama.play(question, say("Never said.", hold=asyncio.Event()), say(ANSWER))
        for tool in TOOLS:
            self.llama.play(tool, ask_for(Call(name=tool)), say(ANSWER))
        self.sessions: dict[str, str] = {}
        self.turns: dict[str, str] = {}

    async def begin(self, program: Program) -> tuple[list[Reader], list[asyncio.Task[httpx.Response]]]:
        """Start them all; give the streams of the last six, and those who wait for the first four as JSON."""
        self.sessions = {question: await program.session() for question in (*SOON, *LATER, *TOOLS)}
        waiting = [posted(program, self.sessions[question], question) for question in SOON]
        readers = [Reader("POST", f"{self.sessions[q]}/turns", {"content": q}) for q in (*LATER, *TOOLS)]
        for reader in readers:
            reader.begin(program.http)
        await counted(self.llama.arrived, lambda: len(self.llama.asked), len(self.sessions))
        await counted(self.port.arrived, lambda: len(self.port.calls), len(TOOLS))
        for question, session in self.sessions.items():
            (turn,) = (await program.http.get(f"{session}/turns")).json()["items"]
            self.turns[question] = f"{session}/turns/{turn['id']}"
        return readers, waiting


@pytest.mark.cases(14)
@pytest.mark.rules("H1", "H2", "H4", "H6", "S4", "X1")
@pytest.mark.timeout(180)
async def test_fifty_streams_are_told_ten_turns_are_drained_and_what_is_left_goes_on_with_the_next_start(
    tmp_path: Path,
) -> None:
    busy = Busy()
    async with busy.llama, busy.port:
        async with running(tmp_path, busy.llama.url, busy.port.url, DRAIN_S=str(DRAIN_S)) as program:
            readers, waiting = await busy.begin(program)
            first = busy.sessions[LATER[0]]
            queued = await program.start(first, "Queued", on_busy="queue")
            waits_in_queue = posted(program, first, "Queued as well", on_busy="queue")
            paths = [busy.turns[q] for q in (*LATER, *TOOLS)] * 2 + list(busy.sessions.values()) * 2 + [queued]
            readers += [Reader("GET", f"{path}/events") for path in (*paths, *[""] * 11)]
            for reader in readers[6:]:
                reader.begin(program.http)
            for reader in readers:
                await within_bound(reader.joined)

            program.process.send_signal(signal.SIGTERM)
            for reader in readers:
                await within_bound(reader.told)
            refusals = [
                await program.http.post(f"{busy.sessions[SOON[0]]}/turns", json={"content": "Too late"}),
                await program.http.post("/sessions", json={}),
            ]
            assert program.process.returncode is None
            busy.soon.set()
            drained = [answer.json() for answer in await asyncio.gather(*waiting)]
            in_queue = await waits_in_queue
            code = await program.end(BOUND_S)
            for reader in readers:
                await reader.end()
        asked_before = len(busy.llama.asked)
        busy.port.release.set()
        async with running(tmp_path, busy.llama.url, busy.port.url, DRAIN_S=str(DRAIN_S)) as program:
            second = in_queue.headers["content-location"]
            ended = {q: await program.finish(busy.turns[q]) for q in busy.turns}
            ended |= {path: await program.finish(path) for path in (queued, second)}
            logs = {question: await program.records(session) for question, session in busy.sessions.items()}
            program.process.send_signal(signal.SIGTERM)
            codes = (code, await program.end(BOUND_S))

    assert len(readers) == 50
    for reader in readers:
        last = reader.frames[-1]
        assert (last.field("retry"), last.field("event")) == ("5000", "shutting_down"), reader.path
    assert {(answer.status_code, answer.json()["code"]) for answer in refusals} == {(503, "shutting_down")}
    assert [(turn["outcome"], turn["content"]) for turn in drained] == [("answered", ANSWER)] * 4
    assert (in_queue.status_code, in_queue.json()["state"]) == (200, "queued")
    assert codes == (0, 0)
    # The next start: each turn has one end, and only those were resumed that had none.
    assert {turn["outcome"] for turn in ended.values()} == {"answered"}
    for question, records in logs.items():
        kinds = [record["type"] for record in records]
        assert kinds.count("turn_finished") == kinds.count("user")
        assert kinds.count("resumed") == (question not in SOON)
        assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    assert busy.llama.refusals == []
    assert len(busy.llama.asked) - asked_before == len(LATER) + len(TOOLS) + 2
    # What may run twice was sent again with its key; what may not was not sent again.
    calls = {tool: [call.key for call in busy.port.calls if call.tool == tool] for tool in TOOLS}
    assert (len(calls["once"]), len(calls["again"]), len(set(calls["again"]))) == (1, 2, 1)
    results = {tool: next(r for r in logs[tool] if r["type"] == "tool_result")["status"] for tool in TOOLS}
    assert results == {"once": "interrupted", "again": "ok"}


@pytest.mark.cases(14)
@pytest.mark.parametrize(
    "signals", [[signal.SIGTERM, signal.SIGTERM], [signal.SIGINT]], ids=["SIGTERM twice", "SIGINT"]
)
@pytest.mark.timeout(120)
async def test_however_it_is_told_to_stop_each_stream_gets_a_last_word_and_the_turn_its_time(
    tmp_path: Path, signals: list[signal.Signals]
) -> None:
    busy = Busy()
    async with busy.llama, busy.port, running(tmp_path, busy.llama.url, busy.port.url, DRAIN_S=str(BOUND_S)) as program:
        session = await program.session()
        waiting = posted(program, session, SOON[0])
        await counted(busy.llama.arrived, lambda: len(busy.llama.asked), 1)
        readers = [Reader("GET", f"{path}/events") for path in (session, "") for _ in range(5)]
        for reader in readers:
            reader.begin(program.http)
            await within_bound(reader.joined)

        for number in signals:
            program.process.send_signal(number)
            # The first one has been taken when the streams are told, so the second one is another.
            for reader in readers:
                await within_bound(reader.told)
        busy.soon.set()
        turn = (await waiting).json()
        code = await program.end(BOUND_S)
        for reader in readers:
            await reader.end()

    assert [reader.frames[-1].field("event") for reader in readers] == ["shutting_down"] * 10
    assert (turn["outcome"], code) == ("answered", 0)


@pytest.mark.timeout(120)
async def test_a_second_ctrl_c_waits_for_no_turn_and_loses_none(tmp_path: Path) -> None:
    busy = Busy()
    async with busy.llama, busy.port:
        # Longer than the bound of this test: who waits for it comes too late.
        async with running(tmp_path, busy.llama.url, busy.port.url, DRAIN_S=str(10 * BOUND_S)) as program:
            turn = await program.start(await program.session(), LATER[0])
            await counted(busy.llama.arrived, lambda: len(busy.llama.asked), 1)
            reader = Reader("GET", f"{turn}/events")
            reader.begin(program.http)
            await within_bound(reader.joined)
            program.process.send_signal(signal.SIGINT)
            await within_bound(reader.told)
            program.process.send_signal(signal.SIGINT)
            code = await program.end(BOUND_S)
            await reader.end()
        async with running(tmp_path, busy.llama.url, busy.port.url, DRAIN_S=str(DRAIN_S)) as program:
            ended = await program.finish(turn)

    assert code == 0
    assert (ended["outcome"], ended["content"]) == ("answered", ANSWER)
