"""Have the same conversations through each subject, each with a llama-server of its own. Above: `__main__`, the report.

The conversations take turns, two at a time, as there are slots; so the server has to remember those that wait. It
does so only for a prompt of which it is about to lose more than half: where a system prompt that all share is longer
than what was said, what was said is lost, whoever asks. So the fair client and the service are measured with a longer
one as well.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from benchmarks.cache.clients import MAX_TOKENS, OwnPrompts, Talker, ThroughService
from benchmarks.cache.counting import Served, needless_share
from benchmarks.cache.model_server import CONDITIONS, Model, model_server
from benchmarks.cache.prompts import HABITS
from benchmarks.cache.texts import CONVERSATIONS, LONGER_SYSTEM, SHORT_SYSTEM, questions
from benchmarks.results import Figure
from benchmarks.startup.own_service import own_service
from benchmarks.startup.rounds import Measured, figures
from service.cli.demo.plan import SLOTS

NAME = "cache"
TURNS = 10
SERVICE = "turnkeeper"
_CASES = (
    *((subject, SHORT_SYSTEM) for subject in (SERVICE, *HABITS)),
    *((subject, LONGER_SYSTEM) for subject in (SERVICE, "naive: append only")),
)


def measure(rounds: int, *, turns: int = TURNS) -> list[Figure]:
    """Measure in so many rounds.

    Raises:
        MeasurementFailed: there is no llama-server, or something doesn't answer as it should.
    """
    return figures(NAME, [asyncio.run(_round(turns)) for _ in range(rounds)])


async def _round(turns: int) -> list[Measured]:
    return [one for case in _CASES for one in await _of_subject(*case, turns)]


async def _of_subject(subject: str, system: str, turns: int) -> list[Measured]:
    async with _talkers(subject, system) as talkers:
        begun = time.perf_counter()
        served = await _talk(talkers, turns)
        took_s = time.perf_counter() - begun
    prompts, evaluated = sum(one.prompt for one in served), sum(one.evaluated for one in served)
    told = f"{HABITS[subject].words}; " if subject in HABITS else ""
    conditions = (
        f"{told}{CONVERSATIONS} conversations on {SLOTS} slots, {turns} turns each, {SLOTS} at a time, answers of "
        f"{MAX_TOKENS} tokens, a system prompt of {len(system.split())} words; {CONDITIONS}"
    )
    return [
        Measured(subject=subject, measure=f"{measure}{_suffix(system)}", unit=unit, value=value, conditions=conditions)
        for measure, unit, value in (
            ("prompt tokens evaluated again that need not be", "%", needless_share(served)),
            ("prompt tokens", "tokens", prompts),
            ("prompt tokens evaluated", "tokens", evaluated),
            ("time of all turns", "s", took_s),
        )
    ]


def _suffix(system: str) -> str:
    """Keep the measures of the longer system prompt apart from those that all subjects have."""
    return "" if system is SHORT_SYSTEM else ", longer system prompt"


@asynccontextmanager
async def _talkers(subject: str, system: str) -> AsyncGenerator[Sequence[Talker]]:
    async with httpx.AsyncClient(timeout=None, trust_env=False) as http, model_server() as llama_url:
        model = Model(http, llama_url)
        if subject in HABITS:
            yield [OwnPrompts(model, HABITS[subject].prompt, system) for _ in range(CONVERSATIONS)]
            return
        with tempfile.TemporaryDirectory() as folder:
            async with own_service(Path(folder) / "cache.db", llama_url=llama_url) as service:
                yield [ThroughService(http, service.url, model, system) for _ in range(CONVERSATIONS)]


async def _talk(talkers: Sequence[Talker], turns: int) -> list[Served]:
    asked = [questions(conversation, turns) for conversation in range(len(talkers))]
    served: list[Served] = []
    for turn in range(turns):
        for first in range(0, len(talkers), SLOTS):
            together = range(first, min(first + SLOTS, len(talkers)))
            answered = await asyncio.gather(*(talkers[one].say(asked[one][turn]) for one in together))
            served += [one for of_talker in answered for one in of_talker]
    return served
