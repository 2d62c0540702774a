"""`python -m benchmarks.growth`: measure and print a table."""

from __future__ import annotations

import sys

from benchmarks.growth.options import options_of
from benchmarks.growth.run import measure
from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.startup.shown import table


def main() -> None:
    """Measure what the command line says."""
    options = options_of(None)
    try:
        figures = measure(options.rounds, sizes=options.sizes)
    except MeasurementFailed as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped")
    sys.stdout.write(table(figures))


if __name__ == "__main__":
    main()
