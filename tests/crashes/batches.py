"""Plays plans in a process of its own, and counts what happened in them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from service.core.json_types import JsonObject
from tests.crashes.chain import Chain, Played, chain_in
from tests.crashes.kill_points import KillPoint
from tests.crashes.plans import Catalogue, Plan, places_of
from tests.crashes.scenarios import silent_places
from tests.crashes.service_process import ROOT, ServiceProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """What was wrong with one plan."""

    plan: Plan | None
    faults: tuple[str, ...]
    log: tuple[str, ...] = ()
    service_said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What came of a number of plans; `spread` counts kills by the kind of their place, and what followed."""

    plans: int
    kills: int
    spread: Counter[str]
    defects: tuple[Defect, ...]


def find_places(scenarios: Sequence[str]) -> Catalogue:
    """Play each of these scenarios once without a kill, and name its places."""
    return asyncio.run(_find_places(scenarios))


async def _find_places(scenarios: Sequence[str]) -> Catalogue:
    plans = [Plan(scenario=name) for name in scenarios]
    with tempfile.TemporaryDirectory() as folder:
        async with chain_in(Path(folder)) as chain, aclosing(chain.play(plans)) as playing:
            catalogue: dict[str, Sequence[KillPoint]] = {}
            async for played in playing:
                if played.faults:
                    raise AssertionError(f"{played.plan}: {played.faults}\n{chain.service.last_words()}")
                places = (*places_of(played.moments, played.log), *silent_places(played.plan.scenario))
                catalogue[played.plan.scenario] = places
    return catalogue


def run(plans: Sequence[Plan]) -> Batch:
    """Play plans on one store, then verify the store with the heads that were kept."""
    return asyncio.run(_run(plans))


async def _run(plans: Sequence[Plan]) -> Batch:
    spread, defects, kills = Counter[str](), list[Defect](), 0
    with tempfile.TemporaryDirectory() as folder:
        async with chain_in(Path(folder)) as chain, aclosing(chain.play(plans)) as playing:
            async for played in playing:
                kills += played.killed
                spread += _counted(played)
                if played.faults:
                    defects.append(_defect(played, chain.service))
        defects += await asyncio.to_thread(_verified, chain, Path(folder, "heads"))
    return Batch(plans=len(plans), kills=kills, spread=spread, defects=tuple(defects))


def _verified(chain: Chain, heads: Path) -> list[Defect]:
    heads.write_text("".join(f"{line}\n" for line in chain.stage.heads), encoding="utf-8")
    store = ("--database-url", chain.service.database_url)
    command = [sys.executable, "-m", "service", "verify", *store, "--heads", str(heads)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return [] if ended.returncode == 0 else [Defect(plan=None, faults=("turnkeeper verify", ended.stderr))]


def _defect(played: Played, service: ServiceProcess) -> Defect:
    log = tuple(
        f"{record['seq']:>4} {record['type']} {_of(record)} {record.get('status') or record.get('outcome') or ''}"
        for record in played.log
    )
    return Defect(plan=played.plan, faults=played.faults, log=log, service_said=service.last_words())


def _of(record: JsonObject) -> object:
    return record["turn"] if "turn" in record else record.get("chunk", "")


def _counted(played: Played) -> Counter[str]:
    counted = played.counted.copy()
    for point in played.plan.points[: played.killed]:
        kind = point.kind.partition(":")[0] if point.write is None else f"write {point.write[0]}"
        counted[f"killed at {kind.replace('port charge', 'port').replace('port look', 'port')}"] += 1
    if played.killed < len(played.plan.points):
        counted["died at rest, since a place was not come to"] += 1
    if len(played.plan.points) > 1:
        counted["killed again while it went on"] += 1
    for record in played.log:
        match record["type"]:
            case "resumed":
                counted["turns resumed"] += 1
            case "tool_result" if record["status"] in ("interrupted", "cancelled"):
                counted[f"results {record['status']}"] += 1
            case "turn_finished":
                error: JsonObject | None = record.get("error")
                why = f" ({error['kind']})" if error else ""
                counted[f"turns {record['outcome']}{why}"] += 1
            case _:
                pass
    counted["calls sent again with the same key"] += played.sent_again
    return counted
