"""The service is killed while it reads, and goes on by itself to the log of a reading in which nothing was killed (R5).

What each of these plays is judged in `judgement_of_readings`: the log, the stream of a client that comes back, the key
that is sent again, what the model was asked, and the store. `make crashes` kills at other places each time.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Sequence

import pytest

from service.core.json_types import JsonObject
from tests.crashes.chain import Chain, chain_in
from tests.crashes.client import BOUND_S
from tests.crashes.dying_service import DOCUMENT, TEXTS
from tests.crashes.kill_points import KillPoint
from tests.crashes.logs import of_type
from tests.crashes.playing import plans, played
from tests.crashes.scenarios import BESIDE, READINGS
from tests.crashes.scenarios_of_readings import A_READING, CANCELLED_READING, LARGE, SEVERAL, UPLOADED
from tests.crashes.service_process import ServiceProcess
from tests.crashes.story_of_readings import StoryOfReading

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no signal 9"),
    pytest.mark.rules("R5"),
]

SLOTS = 3
"""Two for readings: one is left to turns."""

DRAIN_S = 1
STOP_S = DRAIN_S + 5


@pytest.fixture(scope="module")
async def chain(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Chain]:
    """As elsewhere, over a model server of few slots."""
    folder = tmp_path_factory.mktemp("readings")
    async with chain_in(folder, slots=SLOTS, drain_s=str(DRAIN_S)) as started:
        yield started


def types_in(log: Sequence[JsonObject]) -> set[str]:
    return {record["type"] for record in log}


@pytest.mark.rules("S1", "H3", "H6", "R8")
async def test_a_reading_that_was_killed_at_any_step_goes_on_and_asks_about_no_finished_chunk_again(
    chain: Chain,
) -> None:
    steps = (
        (KillPoint("tokens: asked", 5), KillPoint("reader: asked", 3), KillPoint("reader: piece", 40)),
        (KillPoint("tokens: answered", 17), KillPoint("reading shown: gate", 2), KillPoint("answer: piece", 3)),
    )

    done = await played(chain, plans(A_READING, *steps))

    assert [one.killed for one in done] == [3, 3]
    # All that may become of a chunk did, and more than ten were read.
    assert types_in(done[0].log) >= {"gate", "memory", "parse_failed", "budget_exceeded", "answer"}
    assert of_type(done[0].log, "run_end")[0]["chunks_seen"] == 12


@pytest.mark.rules("S1")
async def test_a_kill_around_the_write_of_a_chunk_keeps_all_of_it_or_nothing(chain: Chain) -> None:
    writes = (
        KillPoint("write before: memory", 1),
        KillPoint("write inside: parse_failed", 1),
        KillPoint("write after: budget_exceeded", 1),
        KillPoint("write during: usage", 4),
        KillPoint("write inside: run_end", 1),
    )

    [done] = await played(chain, plans(A_READING, writes, commit_us=200))

    assert done.killed == 5


@pytest.mark.rules("R1", "H3")
async def test_a_kill_during_the_request_leaves_a_reading_or_nothing_and_its_key_gives_one(chain: Chain) -> None:
    before, inside, after = (KillPoint(f"write {place}: reading_created", 1) for place in ("before", "inside", "after"))
    request = ((KillPoint("count: asked", 1), inside), (before, after))

    done = await played(chain, plans(A_READING, *request))

    assert [one.killed for one in done] == [2, 2]


async def test_a_reading_that_is_killed_more_often_than_a_turn_would_be_gone_on_with_comes_to_its_end(
    chain: Chain,
) -> None:
    [done] = await played(chain, plans(A_READING, (KillPoint("reader: piece", 20),) * 4))

    # More often than a turn is gone on with: each time it comes a step further.
    assert done.killed == 4


@pytest.mark.rules("R6")
async def test_documents_that_were_read_side_by_side_are_so_again_after_a_kill(chain: Chain) -> None:
    # Nothing has been read before the first kill; the second one is behind level 1.
    planned, above = KillPoint("write after: reading_planned", 1), KillPoint("write before: usage", 14)
    [done] = await played(chain, plans(SEVERAL, (planned, above)))

    assert done.killed == 2
    assert chain.stage.llama.most_readers[done.plan.mark] == READINGS[SEVERAL].readers


@pytest.mark.rules("R1", "H3")
async def test_a_kill_while_the_process_of_a_file_reads_it_leaves_nothing_and_the_file_can_be_sent_again(
    chain: Chain,
) -> None:
    reads = (KillPoint(f"write inside: {DOCUMENT}", 1), KillPoint(f"write after: {DOCUMENT}", 2))

    [done] = await played(chain, plans(UPLOADED, reads))

    assert done.killed == 2


@pytest.mark.rules("R1")
async def test_a_kill_between_two_slices_of_a_long_text_leaves_nothing_of_it(chain: Chain) -> None:
    [done] = await played(chain, plans(LARGE, KillPoint(f"write before: {TEXTS}", 2)))

    assert done.killed == 1


@pytest.mark.rules("S4", "L9")
async def test_a_reading_and_a_turn_that_are_killed_together_both_go_on(chain: Chain) -> None:
    [done] = await played(chain, plans(BESIDE, (KillPoint("model: piece", 20), KillPoint("port look: asked", 1))))

    assert done.killed == 2
    assert types_in(done.log) >= {"run_end", "turn_finished", "resumed"}


@pytest.mark.rules("R2")
async def test_a_kill_around_the_cancel_of_a_reading_leaves_whole_chunks_and_one_end(chain: Chain) -> None:
    ends = (KillPoint("write before: run_end", 1), KillPoint("reading cancelled", 1))

    [done] = await played(chain, plans(CANCELLED_READING, ends))

    assert done.killed == 2


@pytest.mark.rules("H8")
async def test_a_stop_ends_the_stream_of_a_reading_soon_and_the_next_start_goes_on_with_it(chain: Chain) -> None:
    stage, service = chain.stage, chain.service
    story = StoryOfReading(stage, "plan-stopped", A_READING, READINGS[A_READING])
    await service.kill()
    await service.start()
    stage.moments.begin(service.kill, None, KillPoint("reader: piece", 30))
    async with chain.client() as http:
        reading = asyncio.create_task(story.begin(http))
        async with asyncio.timeout(BOUND_S):
            await stage.moments.reached.wait()
        await stopped_within(service, STOP_S)
        await reading
    assert stage.moments.seen["reading shown: shutting_down"] == 1
    assert stage.moments.seen["reading shown: run_end"] == 0
    await story.died()

    await service.start()
    stage.moments.begin(service.kill, None, None)
    async with chain.client() as http:
        await story.go_on(http)
        told = await story.look(http)

    assert told.faults == []


async def stopped_within(service: ServiceProcess, seconds: float) -> None:
    """Ask it to stop, and wait until it is gone."""
    async with asyncio.timeout(seconds):
        await service.kill(signal.SIGTERM)
