"""`python -m tests.fuzz.raw_run`: send bytes of every kind to the service, one connection for each 50 streams asked."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence

import uvloop

from tests.fuzz.raw_bytes import Outcome, send_all
from tests.fuzz.raw_requests import made

_STREAMS_TO_A_CONNECTION = 50
_BATCH = 2_000


def main() -> int:
    """Run what the command line asks for; 1 when something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.raw_run", description=__doc__)
    parser.add_argument("streams", nargs="?", type=int, default=1_000_000, help="how many streams `tests.fuzz` breaks")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what the bytes are drawn from")
    parser.add_argument("--raw", type=int, metavar="NUMBER", help="send the one case with this number")
    # The rest is for `tests.fuzz`, which gets the same arguments.
    asked, _ = parser.parse_known_args()
    # One line for each connection that is no HTTP says nothing here.
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.levelno > logging.WARNING)
    if asked.raw is not None:
        return _tell(asked.seed, [asked.raw], _run(asked.seed, [asked.raw]))
    count = max(1, asked.streams // _STREAMS_TO_A_CONNECTION)
    _say(f"{count} connections with bytes of every kind, seed {asked.seed}")
    answered = Counter[int]()
    for start in range(0, count, _BATCH):
        numbers = range(start, min(start + _BATCH, count))
        outcome = _run(asked.seed, numbers)
        if outcome.faults:
            return _tell(asked.seed, *_fewest(asked.seed, numbers, outcome))
        answered.update(outcome.statuses)
    for status, times in answered.most_common():
        _say(f"{times:>10} answers with {status}")
    return 0


def _run(seed: int, numbers: Sequence[int]) -> Outcome:
    # What the service runs on; the tests that are always run use asyncio's own loop.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(send_all(seed, numbers))


def _fewest(seed: int, numbers: Sequence[int], outcome: Outcome) -> tuple[Sequence[int], Outcome]:
    """Halve the cases for as long as something stays wrong."""
    while len(numbers) > 1:
        half = len(numbers) // 2
        for part in (numbers[:half], numbers[half:]):
            if (found := _run(seed, part)).faults:
                numbers, outcome = part, found
                break
        else:
            break
    return numbers, outcome


def _tell(seed: int, numbers: Sequence[int], outcome: Outcome) -> int:
    for number, says in outcome.faults:
        _say(f"case {number} of seed {seed}: {says}")
    if outcome.faults and len(numbers) == 1:
        _say(f"sent: {made(seed, numbers[0])}")
        _say(f"again: python -m tests.fuzz.raw_run --seed {seed} --raw {numbers[0]}")
    elif outcome.faults:
        _say(f"only together: cases {numbers[0]} to {numbers[-1]}")
    return 1 if outcome.faults else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
