"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.reading.failures import BenchmarkFailed
from benchmarks.reading.tasks import Kind

LEAST_TOKENS = 500
MOST_TOKENS = 1_000_000
# What the service takes at least.
LEAST_CHUNK_TOKENS = 128
MOST_TASKS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to measure, and with what."""

    llama_url: str
    turnkeeper_url: str | None
    tasks: int
    tokens: int
    seed: int
    chunk_tokens: int
    memory_budget: int
    kinds: tuple[Kind, ...]
    source: str
    attempt_seconds: int
    out: Path


def options_of(arguments: Sequence[str] | None) -> Options:
    """Read the command line.

    Raises:
        BenchmarkFailed: an address that is not one of this machine, without leave.
        SystemExit: what argparse can refuse itself.
    """
    given = _parser().parse_args(arguments)
    if not given.allow_remote:
        for url in filter(None, (given.llama_url, given.turnkeeper_url)):
            check_loopback(url)
    return Options(
        llama_url=given.llama_url,
        turnkeeper_url=given.turnkeeper_url,
        tasks=given.tasks,
        tokens=given.tokens,
        seed=given.seed,
        chunk_tokens=given.chunk_tokens,
        memory_budget=given.memory_budget,
        kinds=tuple(given.kinds),
        source=given.source,
        attempt_seconds=given.attempt_seconds,
        out=given.out,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reading",
        description="Answer questions over long text in several ways and compare what that costs.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--llama-url", default="http://127.0.0.1:8080", help="llama-server, which all rivals ask")
    add("--turnkeeper-url", help="a Turnkeeper on the same llama-server; without it the gated rows are not run")
    add("--tasks", type=within(1, MOST_TASKS), default=6, metavar="N", help="questions, of all kinds in turn")
    add("--tokens", type=within(LEAST_TOKENS, MOST_TOKENS), default=50_000, metavar="N", help="length of each text")
    add("--seed", type=within(0, 1 << 32), default=1, metavar="N", help="the same seed gives the same tasks")
    add(
        "--chunk-tokens",
        type=within(LEAST_CHUNK_TOKENS, MOST_TOKENS),
        default=2000,
        metavar="N",
        help="size of a chunk",
    )
    add("--memory-budget", type=within(16, MOST_TOKENS), default=256, metavar="N", help="tokens of a memory")
    add("--kinds", type=Kind, nargs="+", default=list(Kind), metavar="KIND", help=", ".join(Kind))
    add("--source", choices=("bible", "words"), default="bible", help="the text: a package's, or senseless words")
    add("--attempt-seconds", type=within(1, 86_400), default=3600, metavar="S", help="bound of one attempt")
    add("--out", type=Path, default=Path("dist/benchmarks"), metavar="FOLDER", help="where the figures are written")
    add("--allow-remote", action="store_true", help="also ask servers of other machines")
    return parser


def within(least: int, most: int) -> Callable[[str], int]:
    """Return what reads a whole number for argparse, and refuses one out of these bounds."""

    def number(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{value} is not within {least} to {most}")
        return value

    return number


def check_loopback(url: str) -> None:
    """See that an address is one of this machine.

    Raises:
        BenchmarkFailed: it is not.
    """
    host = urlsplit(url).hostname or ""
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise BenchmarkFailed(f"{url} is not an address of this machine; --allow-remote lets others be asked")
