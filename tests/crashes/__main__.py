"""`python -m tests.crashes`: kill the service in 300 conversations and readings, and judge what becomes of each."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.crashes.batches import Batch, Defect, find_places, run
from tests.crashes.plans import Plan, drawn, point_of
from tests.crashes.scenarios import SCENARIOS

_BATCH = 40


def main() -> int:
    """Play what the command line asks for; 1 when something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crashes", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=300, help="how many times to kill the service")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what scenarios and places are drawn from")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--scenario", choices=list(SCENARIOS), help="play this one only")
    parser.add_argument("--at", default="", help="with --scenario: where to kill, as printed, divided by semicolons")
    parser.add_argument("--commit-us", type=int, default=0, help="with --at: where in a commit")
    asked = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("TURNKEEPER_")]:
        del os.environ[name]
    if asked.at:
        if asked.scenario is None:
            parser.error("--at needs a --scenario")
        points = tuple(point_of(text) for text in asked.at.split(";"))
        plans = [Plan(scenario=asked.scenario, points=points, commit_us=asked.commit_us)] * asked.count
    else:
        catalogue = find_places(SCENARIOS if asked.scenario is None else (asked.scenario,))
        _say(f"{sum(map(len, catalogue.values()))} places in {len(catalogue)} scenarios; seed {asked.seed}")
        plans = list(drawn(catalogue, asked.count, asked.seed))
    with ProcessPoolExecutor(asked.processes) as pool:
        return _play_all(pool, plans)


def _play_all(pool: ProcessPoolExecutor, plans: Sequence[Plan]) -> int:
    began, played, kills = time.monotonic(), 0, 0
    spread, defects = Counter[str](), list[Defect]()
    for done in as_completed([pool.submit(run, plans[at : at + _BATCH]) for at in range(0, len(plans), _BATCH)]):
        batch: Batch = done.result()
        played, kills, spread = played + batch.plans, kills + batch.kills, spread + batch.spread
        defects += batch.defects
        _say(f"{played} stories, {kills} kills at the chosen place, {time.monotonic() - began:.0f} s")
        for defect in batch.defects:
            _tell(defect)
    for what, times in sorted(spread.items()):
        _say(f"{times:>8} {what}")
    _say(f"{len(defects)} of {played} stories are not as they should be" if defects else "all is as it should be")
    return 1 if defects else 0


def _tell(defect: Defect) -> None:
    _say("\n".join((str(defect.plan), *(f"  - {fault}" for fault in defect.faults), *defect.log, defect.service_said)))
    if defect.plan is not None:
        at = "; ".join(map(str, defect.plan.points))
        options = f'1 --scenario "{defect.plan.scenario}" --at "{at}" --commit-us {defect.plan.commit_us}'
        _say(f"again: python -m tests.crashes {options}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
