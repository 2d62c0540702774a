"""The command line of the measurement with dictated replies."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.reading.options import LEAST_CHUNK_TOKENS, LEAST_TOKENS, MOST_TOKENS, check_loopback, within


@dataclass(frozen=True, slots=True, kw_only=True)
class ObedientOptions:
    """What to measure. Sizes are tokens; `place` is the share of the text before the evidence."""

    llama_url: str | None
    context: int
    threads: int | None
    tokens: int
    chunks: tuple[int, ...]
    memories: tuple[int, ...]
    place: float
    rounds: int
    reworded: bool
    seed: int


def obedient_options_of(arguments: Sequence[str] | None) -> ObedientOptions:
    """Read the command line.

    Raises:
        BenchmarkFailed: the address is not one of this machine.
        SystemExit: what argparse can refuse itself.
    """
    given = _parser().parse_args(arguments)
    if given.llama_url is not None:
        check_loopback(given.llama_url)
    return ObedientOptions(
        llama_url=given.llama_url,
        context=given.context,
        threads=given.threads,
        tokens=given.tokens,
        chunks=tuple(given.chunk_tokens),
        memories=tuple(given.memory_tokens),
        place=given.place,
        rounds=given.rounds,
        reworded=given.reworded,
        seed=given.seed,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reading.obedient",
        description="Measure what the update gate saves when the model does as it is told: replies are dictated.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--llama-url", help="llama-server with one slot, --metrics and --cache-ram 0; none starts the demo's")
    add("--context", type=within(1024, MOST_TOKENS), default=8192, metavar="N", help="of a llama-server of its own")
    add("--threads", type=within(1, 1024), metavar="N", help="of a llama-server of its own; none is all cores")
    add("--tokens", type=within(LEAST_TOKENS, MOST_TOKENS), default=5000, metavar="N", help="length of the text")
    chunk = within(LEAST_CHUNK_TOKENS, MOST_TOKENS)
    add("--chunk-tokens", type=chunk, nargs="+", default=[300, 1000, 2500], metavar="N", help="sizes of a chunk")
    memory = within(32, MOST_TOKENS)
    add("--memory-tokens", type=memory, nargs="+", default=[64, 256, 1024], metavar="N", help="sizes of a memory")
    add("--place", type=_share, default=0.2, metavar="SHARE", help="how much of the text stands before the evidence")
    add(
        "--rounds", type=within(1, 99), default=3, metavar="N", help="how often both read, in turn; medians are printed"
    )
    add("--reworded", action="store_true", help="each whole memory in other words, so that none comes from the cache")
    add("--seed", type=within(0, 1 << 32), default=1, metavar="N", help="the same seed gives the same text")
    return parser


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{value} is not within 0 to 1")
    return value
