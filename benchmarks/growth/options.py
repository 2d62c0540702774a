"""The sizes of the benchmark of growth, and how they are named on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What is grown, and how much is asked of each size."""

    records: tuple[int, ...] = (10, 1_000, 100_000)
    sessions: tuple[int, ...] = (10, 1_000, 100_000)
    followers: tuple[int, ...] = (1, 100, 1_000)
    turns: int = 100
    requests: int = 100
    tokens: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthOptions:
    """What the command line says."""

    rounds: int
    sizes: Sizes


def options_of(arguments: Sequence[str] | None) -> GrowthOptions:
    """Read the command line; a size without a value leaves that part out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    sizes = Sizes()
    for field in fields(Sizes):
        default = getattr(sizes, field.name)
        several = isinstance(default, tuple)
        parser.add_argument(f"--{field.name}", type=int, nargs="*" if several else None, default=default)
    given = parser.parse_args(arguments)
    chosen = {field.name: getattr(given, field.name) for field in fields(Sizes)}
    chosen = {name: tuple(value) if isinstance(value, list) else value for name, value in chosen.items()}
    return GrowthOptions(rounds=given.rounds, sizes=Sizes(**chosen))
