"""`python -m tests.fuzz`: break a million streams, and cut each recording at each of its bytes."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from tests.fuzz import every_cut
from tests.fuzz.cases import Case, Defect, check, defect_of, made, smallest

_BATCH = 5_000
_TOLD_EVERY = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    cases: int
    ends: Counter[str]
    defect: Defect | None


def main() -> int:
    """Run what the command line asks for; 1 when something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1_000_000, help="how many streams to break")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what the streams are drawn from")
    parser.add_argument("--only", type=int, help="run the one stream with this number")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-cuts", action="store_true", help="leave the recordings, cut at each byte, out")
    asked = parser.parse_args()
    if asked.only is not None:
        return _run_one(asked.seed, asked.only)
    with ProcessPoolExecutor(asked.processes) as pool:
        is_right = _break_streams(pool, asked.seed, asked.count)
        if is_right and not asked.no_cuts:
            is_right = _cut_recordings(pool)
    return 0 if is_right else 1


def _break_streams(pool: ProcessPoolExecutor, seed: int, count: int) -> bool:
    _say(f"{count} broken streams, seed {seed}")
    began, ends, cases = time.monotonic(), Counter[str](), 0
    batches = [pool.submit(_run, seed, start, min(start + _BATCH, count)) for start in range(0, count, _BATCH)]
    for batch in as_completed(batches):
        done = batch.result()
        if done.defect is not None:
            pool.shutdown(wait=False, cancel_futures=True)
            _tell(seed, done.defect)
            return False
        cases, ends = cases + done.cases, ends + done.ends
        if cases % _TOLD_EVERY < done.cases:
            _say(f"{cases} streams, {cases / (time.monotonic() - began):.0f} a second")
    for word, times in ends.most_common():
        _say(f"{times:>10} {word}")
    return True


def _run(seed: int, start: int, end: int) -> _Done:
    ends = Counter[str]()
    for number in range(start, end):
        case = made(seed, number)
        try:
            ends[check(case)] += 1
        except Exception:
            return _Done(cases=0, ends=ends, defect=_smallest_defect(number, case))
    return _Done(cases=end - start, ends=ends, defect=None)


def _smallest_defect(number: int, case: Case) -> Defect:
    small = smallest(case)
    return Defect(number=number, case=small, says=defect_of(small) or "it is gone in its smallest form")


def _run_one(seed: int, number: int) -> int:
    case = made(seed, number)
    if defect_of(case) is None:
        _say(f"stream {number} of seed {seed}: {check(case)}")
        return 0
    _tell(seed, _smallest_defect(number, case))
    return 1


def _tell(seed: int, defect: Defect) -> None:
    _say(f"stream {defect.number} of seed {seed}: {defect.says}")
    _say(f"smallest form: {defect.case}")
    _say(f"again: make fuzz ARGS='--seed {seed} --only {defect.number}'")


def _cut_recordings(pool: ProcessPoolExecutor) -> bool:
    began, places = time.monotonic(), 0
    waiting = {pool.submit(every_cut.differences, task): task for task in every_cut.tasks()}
    for done in as_completed(waiting):
        _, start, end = waiting[done]
        places += end - start
        if found := done.result():
            pool.shutdown(wait=False, cancel_futures=True)
            _say("\n".join(found))
            return False
    _say(f"each recording, cut at each of its bytes: {places} places, {time.monotonic() - began:.0f} s")
    return True


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
