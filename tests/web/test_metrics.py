"""What Prometheus gets beside the sums of a known run: waits, streams, and nothing twice over a restart (P5, P7)."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from service.adapters.prometheus import CATALOGUE, PrometheusMeter
from tests.cases.replies import Call, ask_for, say
from tests.cases.whole_service import service_over
from tests.fakes import llama as scripted
from tests.fakes.clock import SteppingClock
from tests.fakes.hand_clock import HandClock
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama
from tests.fakes.tool_port import TablePort, spec
from tests.turns.approving import asking_port, until_end
from tests.web.fakes import FakeApplication, FakeFollower, FakeSessions, stored
from tests.web.log_sums import sums_of
from tests.web.scraped import Sample, sample, scraped
from tests.web.serving import BOUND_S, Served, served, settings_with, within_bound
from tests.web.test_metrics_of_a_known_run import a_llama, a_port, of_log, streaming, waiting
from tests.web.test_slow_readers import stalled_request
from tests.web.test_whole_way import served_house

pytestmark = [pytest.mark.anyio, pytest.mark.rules("P5", "P7")]

KNOWN = {
    sample(metric.name, **dict(zip(metric.labels, labels, strict=True)))
    for metric in CATALOGUE
    for labels in metric.label_sets
}


def without_parts(found: dict[Sample, float]) -> set[Sample]:
    """Give the samples' names and labels as the catalogue has them: those of histograms without what is added."""
    added = ("_bucket", "_count", "_sum")
    return {
        (next((name.removesuffix(end) for end in added if name.endswith(end) and (name, *labels) not in KNOWN), name),
         *(label for label in labels if not label.startswith("le=")))
        for name, *labels in found
    }  # fmt: skip


async def test_a_restart_counts_nothing_twice(tmp_path: Path) -> None:
    llama = a_llama()
    llama.play("Tools first", ask_for(Call(name="look")), say("Held back", hold=asyncio.Event()), say("After all."))
    llama.play("Nothing first", say("Held back", hold=asyncio.Event()), say("Then something."))
    async with asyncio.timeout(5 * BOUND_S), llama, a_port() as port:
        async with service_over(tmp_path, llama, port) as service:
            sessions = [await service.session()]
            await service.turn(sessions[0], "Plain")
            sessions.append(await service.session())
            asking = await waiting(service, sessions[-1], "Pays")
            interrupted, turn = await streaming(service, "Tools first")
            silent, other = await streaming(service, "Nothing first")
            sessions += [interrupted, silent]
            first = await scraped(service.served.http)
        async with service_over(tmp_path, llama, port) as service:
            await service.finish(turn)
            await service.finish(other)
            fresh = await scraped(service.served.http)
            await service.turn(sessions[0], "And again")
            await service.cancel(asking)
            second = await scraped(service.served.http)
            logs = [await service.records(session) for session in sessions]

    finished = sample("turnkeeper_turns_total", outcome="answered", limit="none")
    assert (first[finished], fresh[finished]) == (1, 2)
    both = Counter(of_log(first))
    both.update(of_log(second))
    assert both == sums_of(logs, ())
    resumed = sample("turnkeeper_turns_resumed_total")
    assert (first[resumed], second[resumed]) == (0, 2)
    # What waited for a person before the restart waits on.
    assert fresh[sample("turnkeeper_approvals_pending")] == 1
    assert second[sample("turnkeeper_approvals_pending")] == 0
    # The turns that were gone on with may have shown text before: only the new one has a first text here.
    assert second[sample("turnkeeper_first_token_seconds_count")] == 1


async def test_no_label_has_a_value_that_is_not_known_before(tmp_path: Path) -> None:
    llama = a_llama()
    async with llama, a_port() as port, service_over(tmp_path, llama, port) as service:
        session = await service.session()
        quiet = await scraped(service.served.http)
        await service.turn(session, "Tools")
        await service.turn(session, "Plain")
        busy = await scraped(service.served.http)

    assert without_parts(busy) == KNOWN
    # Nothing that happens adds a line.
    assert set(busy) == set(quiet)


async def test_before_the_first_turn_there_is_nothing_to_count() -> None:
    async with served_house(House(ScriptedLlama())) as service:
        found = await scraped(service.http)

    not_zero = {name[0] for name, number in found.items() if number}
    assert not_zero == {"turnkeeper_build_info"}


async def test_the_wait_of_a_completion_for_its_permit_is_measured() -> None:
    clock, meter = SteppingClock(), PrometheusMeter()
    holds = scripted.say("One.", before_end=asyncio.Event())
    house = House(ScriptedLlama(holds, scripted.say("Two."), slots=1), clock=clock, meter=meter)
    first, second = await house.session(), await house.session()
    one = await house.start(first)
    await within_bound(holds.streaming)
    two = await house.start(second)
    for _ in range(100):
        await asyncio.sleep(0)
    assert house.turns.gate.waiting == 1
    clock.seconds += 7
    assert holds.before_end is not None
    holds.before_end.set()
    async with asyncio.timeout(BOUND_S):
        await house.finish(first, one)
        await house.finish(second, two)
    async with served_house(house, meter) as service:
        found = await scraped(service.http)

    assert found[sample("turnkeeper_gate_wait_seconds_sum", work="turn")] == 7
    assert found[sample("turnkeeper_gate_wait_seconds_count", work="turn")] == 2
    assert found[sample("turnkeeper_gate_wait_seconds_bucket", work="turn", le="0.01")] == 1


async def test_an_approval_that_expires_is_counted_with_its_wait() -> None:
    clock, meter = HandClock(), PrometheusMeter()
    script = scripted.ask_for(scripted.call("pay")), scripted.say("Nobody was there.")
    house = House(ScriptedLlama(*script), asking_port(), clock=clock, meter=meter, approval_wait_s=60)
    view = await house.run(await house.session())
    await within_bound(clock.asleep)
    clock.pass_s(90)
    await until_end(house, view)
    async with served_house(house, meter) as service:
        found = await scraped(service.http)

    assert found[sample("turnkeeper_approvals_decided_total", decision="expired")] == 1
    assert found[sample("turnkeeper_approval_wait_seconds_sum")] == pytest.approx(90, abs=0.1)


async def test_the_time_of_a_call_is_that_between_its_records() -> None:
    meter = PrometheusMeter()
    house = House(
        ScriptedLlama(scripted.ask_for(scripted.call("clock"), scripted.call("no_such_tool")), scripted.say("Noon.")),
        TablePort(spec("clock")),
        meter=meter,
    )
    session = await house.session()
    await house.run(session)
    times = {entry.record.type: entry.time for entry in await house.entries(session) if "tool" in entry.record.type}
    async with served_house(house, meter) as service:
        found = await scraped(service.http)

    took = (times["tool_result"] - times["tool_call_started"]).total_seconds()
    name = "turnkeeper_tool_call_duration_seconds"
    assert found[sample(f"{name}_sum", status="ok")] == pytest.approx(took)
    # The call that was never sent has no time.
    assert found[sample(f"{name}_count", status="unknown_tool")] == 0
    assert found[sample("turnkeeper_tool_calls_total", status="unknown_tool")] == 1


async def all_done(service: Served) -> None:
    """Wait until the server's own tasks have ended: it has one for each request."""
    while tasks := set(service.server.server_state.tasks):
        async with asyncio.timeout(BOUND_S):
            await asyncio.wait(tasks)


@pytest.mark.rules("H7")
async def test_open_streams_are_counted_and_a_reader_that_is_dropped() -> None:
    application = FakeApplication()
    sessions: FakeSessions = application.sessions
    follower = sessions.follower = FakeFollower(ends=False)
    async with served(application, settings_with(sse_send_timeout_s=1)) as service:
        before = await scraped(service.http)
        _, writer = await asyncio.open_connection("127.0.0.1", service.port, limit=1)
        writer.write(stalled_request("/sessions/ses_1/events"))
        await within_bound(follower.entered)
        during = await scraped(service.http)
        # More than the buffers of both ends hold.
        for seq in range(2, 34):
            follower.give(stored(seq, content="x" * 1_000_000))
        await within_bound(follower.left)
        await all_done(service)
        after = await scraped(service.http)
        writer.close()

    names = ("turnkeeper_streams_open", "turnkeeper_stream_readers_dropped_total")
    assert [[found[sample(name)] for name in names] for found in (before, during, after)] == [[0, 0], [1, 0], [0, 1]]
