"""`python -m benchmarks.cache`: measure and print a table."""

from __future__ import annotations

import argparse
import sys

from benchmarks.cache.run import TURNS, measure
from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.startup.shown import table


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cache", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args()
    try:
        figures = measure(options.rounds, turns=options.turns)
    except MeasurementFailed as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped")
    sys.stdout.write(table(figures))


if __name__ == "__main__":
    main()
