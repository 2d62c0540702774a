"""`python -m benchmarks.log`: measure and print a table."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields

from benchmarks.log.run import Sizes, measure
from benchmarks.startup.shown import table


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.log", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    for field in fields(Sizes):
        parser.add_argument(f"--{field.name}", type=int, default=getattr(Sizes(), field.name))
    options = parser.parse_args()
    sizes = Sizes(**{field.name: getattr(options, field.name) for field in fields(Sizes)})
    try:
        sys.stdout.write(table(measure(options.rounds, sizes=sizes)))
    except KeyboardInterrupt:
        sys.exit("stopped")


if __name__ == "__main__":
    main()
