"""`python -m benchmarks.startup`: measure and print a table."""

from __future__ import annotations

import argparse
import sys

from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.startup.run import SESSIONS, measure
from benchmarks.startup.shown import table


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sessions", type=int, nargs="+", default=list(SESSIONS), help="of each store")
    options = parser.parse_args()
    try:
        figures = measure(options.rounds, sessions=options.sessions)
    except MeasurementFailed as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped")
    sys.stdout.write(table(figures))


if __name__ == "__main__":
    main()
