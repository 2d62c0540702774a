"""What is known of llama-server, when it is asked anew, and how a change is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from service.access.gate import Gate
from service.access.model_server import FACTS_AGE_S, ModelServer
from service.core.baseline import TemplateProfile
from service.core.errors import ModelFailure
from service.ports import ServerFacts
from tests.fakes.clock import SteppingClock
from tests.fakes.llama import GONE, ScriptedLlama

pytestmark = [pytest.mark.anyio, pytest.mark.rules("L10")]

ABLE = TemplateProfile(hash="t1", tools=True, parallel=True, thinking_off="tail")


class CountingLlama(ScriptedLlama):
    """Counts how often it is asked for its facts."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.server = ServerFacts(context_tokens=4096, slots=2, model="smol", template=ABLE)

    async def facts(self) -> ServerFacts:
        self.asked += 1
        return await super().facts()


class Watched:
    """A model server over a fake one, with a clock."""

    def __init__(self, *, slots: int | None = None, has_tools: bool = True) -> None:
        self.llama = CountingLlama()
        self.gate = Gate(1)
        self.clock = SteppingClock()
        self.server = ModelServer(self.llama, self.gate, self.clock, slots=slots, has_tools=has_tools)

    async def after_a_change(self, **change: Any) -> list[Any]:
        """Learn the server, change it, and give what is logged when it is asked anew, twice."""
        await self.server.facts()
        self.llama.server = replace(self.llama.server, **change)
        with capture_logs() as logged:
            for _ in range(2):
                self.clock.seconds += FACTS_AGE_S
                await self.server.facts()
        return [entry for entry in logged if entry["log_level"] == "warning"]


async def test_an_answer_holds_for_a_while() -> None:
    watched = Watched()
    asked: list[int] = []
    for seconds in (0, FACTS_AGE_S - 1, 1, FACTS_AGE_S - 1):
        watched.clock.seconds += seconds
        await watched.server.facts()
        asked.append(watched.llama.asked)

    assert asked == [1, 1, 2, 2]


async def test_a_server_that_came_back_is_asked_at_once() -> None:
    watched = Watched()
    await watched.server.facts()
    watched.server.was_away()
    await watched.server.facts()
    await watched.server.facts()

    assert watched.llama.asked == 2


async def test_a_server_that_is_away_is_known_by_what_it_said_last() -> None:
    watched = Watched()
    watched.llama.away = GONE
    assert (await watched.server.facts_or_none(), watched.server.context_tokens) == (None, None)
    watched.llama.away = None
    known = await watched.server.facts_or_none()
    watched.llama.away = GONE
    watched.server.was_away()

    assert await watched.server.facts_or_none() == known == watched.llama.server
    assert watched.server.context_tokens == 4096
    with pytest.raises(ModelFailure):
        await watched.server.facts()


@pytest.mark.parametrize(("setting", "capacity"), [(None, 3), (1, 1)])
async def test_the_gate_has_as_many_permits_as_the_server_has_slots_unless_set(
    setting: int | None, capacity: int
) -> None:
    watched = Watched(slots=setting)
    await watched.after_a_change(slots=3)

    assert watched.gate.capacity == capacity


async def test_nothing_is_warned_of_while_nothing_changes() -> None:
    assert await Watched().after_a_change() == []


@pytest.mark.parametrize(
    ("model", "says"), [("big", "has another model: big; before smol"), (None, "one without a name")]
)
async def test_another_model_is_told_once(model: str | None, says: str) -> None:
    (entry,) = await Watched().after_a_change(model=model)

    assert entry["event"] == "llama_server.model_changed"
    assert says in entry["says"]


async def test_another_template_is_told_once() -> None:
    (entry,) = await Watched().after_a_change(template=replace(ABLE, hash="t2", keeps_turns=False))

    assert entry["event"] == "llama_server.template_changed"
    assert "another chat template" in entry["says"]


async def test_the_same_template_with_other_traits_is_told_once_with_the_traits() -> None:
    (entry,) = await Watched().after_a_change(template=replace(ABLE, keeps_turns=False, call_id="nine"))

    assert entry["event"] == "llama_server.template_changed"
    assert "(call_id was any, is nine, keeps_turns was True, is False)" in entry["says"]


@pytest.mark.parametrize(
    ("profile", "has_tools", "says"),
    [
        (ABLE, True, "It can do all that sessions need."),
        (replace(ABLE, keeps_turns=False), True, "This template rewrites finished turns"),
        (replace(ABLE, tools=False), True, "does not show tools"),
        (replace(ABLE, tools=False), False, "It can do all that sessions need."),
    ],
)
async def test_the_log_says_in_plain_words_what_a_template_is(
    profile: TemplateProfile, has_tools: bool, says: str
) -> None:
    watched = Watched(has_tools=has_tools)
    watched.llama.server = replace(watched.llama.server, template=profile)
    with capture_logs() as logged:
        for _ in range(2):
            watched.clock.seconds += FACTS_AGE_S
            await watched.server.facts()

    (entry,) = logged
    assert (entry["event"], entry["hash"], entry["log_level"]) == ("llama_server.template", "t1", "info")
    assert says in entry["says"]
