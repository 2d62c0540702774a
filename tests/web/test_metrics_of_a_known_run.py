"""A scrape of the whole service says what its log says, after turns and readings of each kind (P5, P7)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort, PortCall, open_spec
from tests.cases.replies import Call, ask_for, say
from tests.cases.whole_service import AT_ONCE, JSON, WholeService, service_over
from tests.crashes.watched_reader import AskedSection, Said
from tests.readings.reading_house import CHUNK_TOKENS, part, retain, update
from tests.web.log_sums import durations, sums_of
from tests.web.metered_llama import MeteredLlama
from tests.web.scraped import Sample, sample, scraped
from tests.web.serving import frames_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("P5", "P7")]

CONTEXT = 3000
SLOTS = 2
WORDS = "some words of an answer " * 60
SAMPLES_OF_THE_LOG = (
    "turnkeeper_turns_total",
    "turnkeeper_turn_errors_total",
    "turnkeeper_completions_total",
    "turnkeeper_tokens_total",
    "turnkeeper_reasoning_tokens_total",
    "turnkeeper_attempts_total",
    "turnkeeper_cache_losses_total",
    "turnkeeper_cache_lost_tokens_total",
    "turnkeeper_compactions_total",
    "turnkeeper_compaction_freed_tokens_total",
    "turnkeeper_tool_calls_total",
    "turnkeeper_tool_call_duration_seconds_count",
    "turnkeeper_approvals_requested_total",
    "turnkeeper_approvals_decided_total",
    "turnkeeper_approval_wait_seconds_count",
    "turnkeeper_readings_total",
    "turnkeeper_reading_duration_seconds_count",
    "turnkeeper_reading_chunks_total",
    "turnkeeper_reading_gates_total",
)


def _breaks(_: PortCall) -> JsonObject:
    return {"status": "failed", "message": "It is broken."}


def a_port() -> FakePort:
    return FakePort(
        open_spec("look"),
        open_spec("break"),
        open_spec("pay", needs_approval=True),
        answers={"break": _breaks},
    )


def reads(asked: AskedSection) -> Said:
    """Find the key, drown in words once, write nonsense once, and keep the rest out."""
    if asked.is_answer:
        return "It lies under the stone."
    if "KEY" in asked.text:
        return update("The key lies under the stone.")
    if "MUCH" in asked.text:
        return update("much " * 200)
    return "no gates at all" if "NONSENSE" in asked.text else retain()


def a_llama() -> MeteredLlama:
    llama = MeteredLlama(reads, say("In short, it was long."), slots=SLOTS, context_tokens=CONTEXT)
    calls = [Call(name="look", id="c1"), Call(name="break", id="c2"), Call(name="nothing", id="c3")]
    llama.play("Plain", say("Hello there.", thought="A greeting."), say("Once more."))
    llama.play("Tools", ask_for(*calls), ask_for(Call(name="look", arguments="[1]")), say("Done."))
    llama.play("Limit", ask_for(Call(name="look")))
    llama.play("Cut", say("", finish="length"))
    llama.play("Silent", say(""), say("Now I say something."))
    llama.play("Mute", say(""))
    llama.play("Pays", ask_for(Call(name="pay")), say("Paid."))
    llama.play("Denied", ask_for(Call(name="pay")), say("Not paid."))
    llama.play("Long 0", say(WORDS))
    llama.play("Forgotten", say(WORDS), say("It took longer."))
    return llama


@asynccontextmanager
async def a_service(store: Path, llama: MeteredLlama) -> AsyncGenerator[WholeService]:
    async with llama, a_port() as port, service_over(store, llama, port, compact_at=0.6, min_room=64) as service:
        yield service


async def turns_that_end(service: WholeService, llama: MeteredLlama) -> list[str]:
    """Run turns of each kind, one after another; give their sessions."""
    sessions: list[str] = []
    for content in ("Plain", "Tools", "Cut", "Silent", "Mute"):
        sessions.append(await service.session())
        await service.turn(sessions[-1], content)
    await service.turn(sessions[0], "And again")
    sessions.append(await service.session(limits={"tool_iterations": 1}))
    await service.turn(sessions[-1], "Limit")
    sessions.append(await service.session())
    await service.turn(sessions[-1], "Forgotten")
    llama.forget("Forgotten")
    await service.turn(sessions[-1], "And then?")
    sessions.append(await service.session())
    for number in range(8):
        assert (await service.turn(sessions[-1], f"Long {number}"))["outcome"] == "answered"
    sessions += [await decided(service, "Pays", approved=True), await decided(service, "Denied", approved=False)]
    sessions.append(await cancelled(service, llama))
    return sessions


async def decided(service: WholeService, content: str, *, approved: bool) -> str:
    session = await service.session()
    turn = await waiting(service, session, content)
    [pending] = (await service.served.http.get(turn)).json()["pending"]
    decision = {"call": pending["call"], "digest": pending["digest"], "approved": approved}
    answer = await service.served.http.post(f"{turn}/decisions", json={"decisions": [decision]}, headers=JSON)
    assert answer.json()["outcome"] == "answered"
    return session


async def waiting(service: WholeService, session: str, content: str) -> str:
    """Start a turn and follow it until it waits for a person."""
    turn = await service.start(session, content)
    async with service.served.http.stream("GET", f"{turn}/events") as response:
        async for frame in frames_of(response):
            if frame.field("event") == "approval_requested":
                return turn
    raise AssertionError("the turn has ended")


async def cancelled(service: WholeService, llama: MeteredLlama) -> str:
    llama.play("Cancelled", say("Held back", hold=asyncio.Event()))
    session, turn = await streaming(service, "Cancelled")
    await service.cancel(turn)
    return session


async def streaming(service: WholeService, content: str) -> tuple[str, str]:
    """Start a turn and wait until the model is at work."""
    session = await service.session()
    turn = await service.start(session, content)
    async with service.served.http.stream("GET", f"{turn}/events") as response:
        async for frame in frames_of(response):
            if frame.field("event") in ("content", "partial"):
                return session, turn
    raise AssertionError("the turn has ended")


async def read(service: WholeService, *says: str) -> list[JsonObject]:
    """Read a text to its end; give the reading's records."""
    text = "".join(part(number, said) for number, said in enumerate(says, start=1))
    asked = {
        "query": "Where is the key?",
        "documents": [{"name": "a.txt", "text": text}],
        "memory_budget": 64,
        "chunk_tokens": CHUNK_TOKENS,
    }
    answer = await service.served.http.post("/readings", json=asked, headers=JSON)
    assert answer.status_code == 200, answer.text
    async with service.served.http.stream("GET", f"/readings/{answer.json()['id']}/events") as response:
        frames = [frame async for frame in frames_of(response)]
    return [frame.data for frame in frames if frame.field("id") is not None]


def of_log(found: dict[Sample, float]) -> dict[Sample, float]:
    """Give those of a scrape that the log should agree with, without zeros."""
    return {name: number for name, number in found.items() if number and name[0] in SAMPLES_OF_THE_LOG}


async def test_each_sum_is_that_of_the_log(tmp_path: Path) -> None:
    llama = a_llama()
    async with asyncio.timeout(50), a_service(tmp_path, llama) as service:
        sessions = await turns_that_end(service, llama)
        readings = [await read(service, "of nothing", "says KEY", "has MUCH"), await read(service, "NONSENSE", "none")]
        logs = [await service.records(session) for session in sessions]
        found = await scraped(service.served.http)

    expected = sums_of(logs, readings)
    assert of_log(found) == expected
    assert {name[0] for name in expected} == set(SAMPLES_OF_THE_LOG)
    outcomes = {name[2] for name in expected if name[0] == "turnkeeper_turns_total"}
    assert outcomes == {f"outcome={outcome}" for outcome in ("answered", "turn_limit", "failed", "cancelled")}
    results = {name[1] for name in expected if name[0] == "turnkeeper_reading_chunks_total"}
    assert results == {f"result={result}" for result in ("used", "unused", "budget_exceeded", "parse_failed")}


async def test_times_are_those_between_the_records_of_the_log(tmp_path: Path) -> None:
    llama = a_llama()
    async with asyncio.timeout(50), a_service(tmp_path, llama) as service:
        sessions = await turns_that_end(service, llama)
        logs = [await service.records(session) for session in sessions]
        found = await scraped(service.served.http)

    took = [seconds for records in logs for seconds in durations(records)]
    assert total(found, "turnkeeper_turn_duration_seconds_count") == len(took)
    assert total(found, "turnkeeper_turn_duration_seconds_sum") == pytest.approx(sum(took), abs=1e-6)
    # Two turns said nothing, one only asked for tools, and one was cancelled before its text came.
    assert total(found, "turnkeeper_first_token_seconds_count") == len(took) - 4
    assert total(found, "turnkeeper_gate_wait_seconds_count") == len(llama.asked)
    # Of the one that was cancelled nobody knows what it cost.
    assert total(found, "turnkeeper_completions_total") == len(llama.asked) - 1


async def test_what_goes_on_is_told_as_it_stands(tmp_path: Path) -> None:
    llama, release = a_llama(), asyncio.Event()
    for name in ("Held 1", "Held 2", "Held 3"):
        llama.play(name, say("Held back", hold=release))
    async with asyncio.timeout(50), a_service(tmp_path, llama) as service:
        http = service.served.http
        quiet = await scraped(http)
        asking = await service.session()
        await waiting(service, asking, "Pays")
        held = [await streaming(service, "Held 1"), await streaming(service, "Held 2")]
        last = await service.start(await service.session(), "Held 3")
        await http.post(f"{held[0][0]}/turns", json={"content": "Later", "on_busy": "queue"}, headers=AT_ONCE)
        async with http.stream("GET", f"{last}/events") as response:
            # Kept, since a stream whose frames nobody holds any more is closed.
            frames = frames_of(response)
            while (await anext(frames)).field("event") != "queued":
                pass
            busy = await scraped(http)
            while total(busy, "turnkeeper_streams_open") != 1:
                # Those of before are left, which the service may not have noticed yet.
                busy = await scraped(http)
        release.set()
        for _, turn in held:
            await service.finish(turn)
        await service.finish(last)

    names = {
        sample("turnkeeper_gate_permits"): (SLOTS, SLOTS),
        sample("turnkeeper_gate_permits_in_use"): (0, 2),
        sample("turnkeeper_gate_waiting"): (0, 1),
        sample("turnkeeper_turns_open", state="running"): (0, 3),
        sample("turnkeeper_turns_open", state="awaiting_approval"): (0, 1),
        sample("turnkeeper_turns_open", state="queued"): (0, 1),
        sample("turnkeeper_approvals_pending"): (0, 1),
        sample("turnkeeper_streams_open"): (0, 1),
        sample("turnkeeper_readings_open"): (0, 0),
    }
    # How many slots there are is known with the first session.
    quiet[sample("turnkeeper_gate_permits")] = busy[sample("turnkeeper_gate_permits")]
    assert {name: (quiet[name], busy[name]) for name in names} == names
    assert quiet[sample("turnkeeper_approval_oldest_age_seconds")] == 0
    assert busy[sample("turnkeeper_approval_oldest_age_seconds")] > 0


async def test_the_store_is_measured(tmp_path: Path) -> None:
    llama = a_llama()
    async with asyncio.timeout(50), a_service(tmp_path, llama) as service:
        before = await scraped(service.served.http)
        session = await service.session()
        await service.turn(session, "Plain")
        after = await scraped(service.served.http)
        size = {name: (tmp_path / f"store.db{end}").stat().st_size for name, end in (("database", ""), ("wal", "-wal"))}

    assert {name: after[sample("turnkeeper_store_size_bytes", file=name)] for name in size} == size
    assert after[sample("turnkeeper_store_free_bytes")] > 0
    writes = grown(before, after, "turnkeeper_log_write_seconds_count")
    # The session with its keys and tools, the message, and the answer.
    assert writes >= 3
    assert grown(before, after, "turnkeeper_log_commit_writes_sum") == writes
    assert 0 < grown(before, after, "turnkeeper_log_commit_writes_count") <= writes
    assert grown(before, after, "turnkeeper_log_write_seconds_sum") > 0
    assert after[sample("turnkeeper_log_write_failures_total")] == 0


def total(found: dict[Sample, float], name: str) -> float:
    return sum(number for each, number in found.items() if each[0] == name)


def grown(before: dict[Sample, float], after: dict[Sample, float], name: str) -> float:
    return total(after, name) - total(before, name)
