"""What tests of kills share: plans that are played, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from tests.crashes.chain import Chain, Played
from tests.crashes.kill_points import KillPoint
from tests.crashes.logs import of_type
from tests.crashes.plans import Plan


async def played(chain: Chain, plans: Sequence[Plan]) -> list[Played]:
    """Play plans, and give what came of them; a fault in one of them is an error."""
    async with aclosing(chain.play(plans)) as playing:
        done = [one async for one in playing]
    faults = [f"{one.plan}: {'; '.join(one.faults)}" for one in done if one.faults]
    assert not faults, "\n".join(faults)
    return done


def plans(scenario: str, *points: KillPoint | tuple[KillPoint, ...], commit_us: int = 0) -> list[Plan]:
    """Give plans of one scenario that each die at one of the points, or in turn at those of a tuple."""
    chains = [point if isinstance(point, tuple) else (point,) for point in points]
    return [Plan(scenario=scenario, points=chained, commit_us=commit_us) for chained in chains]


def statuses_of(done: Played) -> list[str]:
    """Give the statuses of a conversation's results, in the order in which they came."""
    return [record["status"] for record in of_type(done.log, "tool_result")]
