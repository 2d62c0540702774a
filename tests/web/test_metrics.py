"""What Prometheus gets: the sums of the log (P5, P7)."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.adapters.prometheus import PrometheusMeter
from service.core.errors import ErrorKind, ModelFailure
from service.core.records import CacheLoss, Record, StepUsage, ToolResult
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.web.serving import Served
from tests.web.test_whole_way import served_house

pytestmark = [pytest.mark.anyio, pytest.mark.rules("P5", "P7")]


async def scraped(service: Served) -> dict[tuple[str, ...], float]:
    response = await service.http.get("/metrics")
    assert (response.status_code, response.headers["content-type"].split(";")[0]) == (200, "text/plain")
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def total(records: list[Record], field: str) -> int:
    return sum(getattr(record, field) for record in records if isinstance(record, StepUsage))


async def test_a_scrape_after_some_turns_agrees_with_the_log() -> None:
    broken = Play(content="Half", failure=ModelFailure(ErrorKind.STREAM_CLOSED, "broke"))
    script = [
        ask_for(call("clock")),
        broken,
        say("It is noon. " * 40),
        say("Late.", cached_tokens=0),
        say("", finish_reason="length"),
    ]
    house = House(ScriptedLlama(*script), TablePort(spec("clock")), meter=(meter := PrometheusMeter()))
    async with served_house(house, meter) as service:
        session = await house.session()
        for content in ("What time is it?", "And now?", "And then?"):
            await house.run(session, content)
        found = await scraped(service)

    records = await house.records(session)
    (loss,) = [record for record in records if isinstance(record, CacheLoss)]
    assert len([record for record in records if isinstance(record, ToolResult)]) == 1
    cached, prompts = total(records, "cached_tokens"), total(records, "prompt_tokens")
    expected = {
        ("turnkeeper_turns_total", "none", "answered"): 2,
        ("turnkeeper_turns_total", "max_tokens", "turn_limit"): 1,
        ("turnkeeper_tokens_total", "cached"): cached,
        ("turnkeeper_tokens_total", "evaluated"): prompts - cached,
        ("turnkeeper_tokens_total", "generated"): total(records, "completion_tokens"),
        ("turnkeeper_tool_calls_total", "ok"): 1,
        ("turnkeeper_attempts_total", "stream_closed"): 1,
        ("turnkeeper_cache_losses_total", "unknown"): 1,
        ("turnkeeper_cache_lost_tokens_total", "unknown"): loss.lost_tokens,
        ("turnkeeper_context_fill_ratio_count",): 4,
    }
    assert {name: found.get(name) for name in expected} == expected
    assert 0 < found["turnkeeper_context_fill_ratio_sum",] < 4


async def test_before_the_first_turn_there_is_nothing_to_count() -> None:
    async with served_house(House(ScriptedLlama())) as service:
        assert (await scraped(service))["turnkeeper_context_fill_ratio_count",] == 0
