"""`python -m tests.conversations`: play a hundred thousand conversations and judge each of them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

from tests.conversations.batches import be_quiet, check, run_all, smallest_defect
from tests.conversations.generator import made
from tests.conversations.spread import EXPECTED

_TOLD_EVERY = 5_000


def main() -> int:
    """Play what the command line asks for; 1 when something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.conversations", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=100_000, help="how many conversations to play")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what the conversations are drawn from")
    parser.add_argument("--only", type=int, help="play the one conversation with this number")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    be_quiet()
    if asked.only is not None:
        return _play_one(asked.seed, asked.only)
    return _play_all(asked.seed, asked.count, asked.processes)


def _play_all(seed: int, count: int, processes: int) -> int:
    _say(f"{count} conversations, seed {seed}")
    began, checked, spread = time.monotonic(), 0, Counter[str]()
    for batch in run_all(seed, count, processes=processes):
        checked, spread = checked + batch.checked, spread + batch.spread
        if batch.defect is not None:
            _say(f"{checked} conversations were as they should be, and then")
            _say(str(batch.defect))
            return 1
        if checked % _TOLD_EVERY < batch.checked:
            _say(f"{checked} conversations, {checked / (time.monotonic() - began):.0f} a second")
    _say(f"all {checked} are as they should be; so many of them had")
    for word in EXPECTED:
        _say(f"{spread[word]:>10} {word}")
    return 0


def _play_one(seed: int, number: int) -> int:
    plan = made(seed, number)
    try:
        had = check(plan)
    except Exception as error:
        _say(f"{plan}")
        _say(str(smallest_defect(seed, number, error)))
        return 1
    _say(f"conversation {number} of seed {seed} is as it should be, and had: {', '.join(sorted(had))}")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
