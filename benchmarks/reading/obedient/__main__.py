"""`python -m benchmarks.reading.obedient`: the gated loop beside one that always updates, with dictated replies."""

from __future__ import annotations

import os
import sys

import anyio

from benchmarks.reading.failures import AttemptFailed, BenchmarkFailed
from benchmarks.reading.obedient.comparison import Comparison, compare_sizes
from benchmarks.reading.obedient.options import ObedientOptions, obedient_options_of
from benchmarks.reading.obedient.rounds import Compared
from benchmarks.reading.obedient.table import EXPLANATION, outlook, table


def main() -> None:
    """Measure, print the table, and end with 1 where nothing could be measured."""
    try:
        options = obedient_options_of(None)
        _show(options, anyio.run(compare_sizes, options, _say))
    except (AttemptFailed, BenchmarkFailed) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped")


def _show(options: ObedientOptions, found: Comparison) -> None:
    parts = [_head(options, found), table(found.sizes), EXPLANATION, outlook(found.sizes, reworded=options.reworded)]
    sys.stdout.write("\n\n".join(parts) + "\n")
    if not any(isinstance(size, Compared) for size in found.sizes):
        raise BenchmarkFailed("no size could be measured")


def _head(options: ObedientOptions, found: Comparison) -> str:
    wording = "in other words each time" if options.reworded else "word for word the same"
    return (
        f"{found.facts.model}, context {found.facts.context_tokens}; {os.cpu_count()} cores; a text of "
        f"{found.text_tokens} tokens, the evidence behind {options.place:.0%} of it; {options.rounds} rounds; a memory "
        f"that is written again is {wording}"
    )


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    main()
