"""Draws, plays and judges many conversations from one seed."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

import structlog

from tests.conversations.driver import play
from tests.conversations.generator import made
from tests.conversations.judgement import judge
from tests.conversations.plan import Conversation
from tests.conversations.smallest import smallest
from tests.conversations.spread import ingredients

_BATCH = 125


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """What is wrong with a conversation, in its smallest form."""

    seed: int
    number: int
    plan: Conversation
    says: str

    def __str__(self) -> str:
        return (
            f"conversation {self.number} of seed {self.seed}: {self.says}\n"
            f"smallest form: {self.plan}\n"
            f"again: make conversations ARGS='--seed {self.seed} --only {self.number}'"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Conversations that were checked: in how many of them each ingredient was, and the first defect."""

    checked: int
    spread: Counter[str]
    defect: Defect | None = None


def check(plan: Conversation) -> set[str]:
    """Play and judge a conversation and name its ingredients; what is wrong with it is raised, of any type."""
    with asyncio.Runner() as runner:
        # Not runner.run, which takes a third of the time to listen for Ctrl-C.
        played = runner.get_loop().run_until_complete(play(plan))
    judge(played)
    return ingredients(played)


def run(seed: int, start: int, end: int) -> Batch:
    """Check the conversations of a seed from one number up to another, until one is wrong."""
    spread = Counter[str]()
    for number in range(start, end):
        try:
            spread.update(check(made(seed, number)))
        except Exception as error:
            defect = smallest_defect(seed, number, error)
            return Batch(checked=number - start, spread=spread, defect=defect)
    return Batch(checked=end - start, spread=spread)


def run_all(seed: int, count: int, *, processes: int) -> Iterator[Batch]:
    """Check so many conversations of a seed in several processes, until one is wrong."""
    # Spawned, since a fork of a process with threads may hang.
    spawned = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=spawned, initializer=be_quiet) as pool:
        starts = range(0, count, _BATCH)
        for done in as_completed([pool.submit(run, seed, start, min(start + _BATCH, count)) for start in starts]):
            batch = done.result()
            if batch.defect is not None:
                pool.shutdown(wait=False, cancel_futures=True)
            yield batch
            if batch.defect is not None:
                return


def be_quiet() -> None:
    """Write no log lines of thousands of conversations, each of which goes wrong somewhere."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def smallest_defect(seed: int, number: int, error: Exception) -> Defect:
    """Make a conversation small that fails with this error."""
    plan = smallest(made(seed, number), lambda smaller: type(_wrong(smaller)) is type(error))
    again = _wrong(plan)
    says = f"{type(error).__name__}: {error if again is None else again}"
    return Defect(seed=seed, number=number, plan=plan, says=says)


def _wrong(plan: Conversation) -> Exception | None:
    try:
        check(plan)
    except Exception as error:
        return error
    return None
