"""`python -m benchmarks.reading`: the gated reading of a running Turnkeeper beside its rivals, as a table."""

from __future__ import annotations

import sys

import anyio

from benchmarks.reading.failures import BenchmarkFailed
from benchmarks.reading.options import Options, options_of
from benchmarks.reading.ranking import bm25_ranking
from benchmarks.reading.run import Ground, run
from benchmarks.reading.summary import cost_table, kind_table, notes
from benchmarks.reading.texts import WordListText, bible_text


def main() -> None:
    """Measure, print the tables, and end with 1 where nothing could be measured."""
    try:
        options = options_of(None)
        source = WordListText() if options.source == "words" else bible_text()
        anyio.run(_measure, options, Ground(source=source, ranking=bm25_ranking(), say=_say))
    except BenchmarkFailed as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped; the figures of the tasks before are written")


async def _measure(options: Options, ground: Ground) -> None:
    attempts = await run(options, ground)
    parts = [cost_table(attempts), kind_table(attempts), "\n".join(notes(attempts)), f"Written to {options.out}"]
    sys.stdout.write("\n\n".join(filter(None, parts)) + "\n")


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    main()
