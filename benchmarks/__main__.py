"""`python -m benchmarks`: measure, print the tables, and publish the figures, or keep those of a trial apart."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.overhead.rounds import Plan
from benchmarks.registry import BENCHMARKS
from benchmarks.report.files import RESULTS, write
from benchmarks.report.merging import OtherMachine, merged
from benchmarks.report.page import benchmark_tables, targets_table
from benchmarks.report.surroundings import machine, versions
from benchmarks.results import Figure, Results, read_results, write_results

_STOPPED = 130


def main(
    only: Annotated[str, typer.Option(help="Names of benchmarks, with commas; all if none are given.")] = "",
    rounds: Annotated[int, typer.Option(min=1, help="Rounds over all subjects.")] = 3,
    seconds: Annotated[float, typer.Option(min=0.5, help="Seconds of each measurement under load.")] = 4,
    peers: Annotated[bool, typer.Option(help="Whether to measure the peers that are installed, too.")] = True,
    results: Annotated[
        Path, typer.Option(help="Where the figures go; any other file than this is a trial and changes no page.")
    ] = RESULTS,
) -> None:
    """Run benchmarks. Figures of benchmarks that aren't run stay in the file as they are."""
    names = [name.strip() for name in only.split(",") if name.strip()] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        raise typer.BadParameter(f"no benchmark {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}")
    # To end the servers, SIGTERM takes the way of Ctrl-C, which shells switch off in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)
    plan = Plan(rounds=rounds, seconds=seconds, with_peers=peers, say=lambda line: typer.echo(line, err=True))
    _run(names, plan, results)


def _run(names: list[str], plan: Plan, file: Path) -> None:
    run = _Run(file)
    failed: list[str] = []
    for name in names:
        plan.say(f"{name} …")
        try:
            run.keep(BENCHMARKS[name](plan))
        except MeasurementFailed as failure:
            failed.append(name)
            plan.say(f"{name}: {failure}")
        except OtherMachine as failure:
            plan.say(f"error: {failure}")
            raise typer.Exit(1) from failure
        except KeyboardInterrupt as interrupt:
            plan.say("stopped; the figures of the benchmarks before are kept")
            raise typer.Exit(_STOPPED) from interrupt
    if run.results is not None:
        typer.echo(_report(run.results, [name for name in names if name not in failed]))
    if failed:
        plan.say(f"error: could not be measured: {', '.join(failed)}")
        raise typer.Exit(1)


class _Run:
    """What is in the file, and what comes to it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.results = read_results(file) if file.exists() else None
        self._begun = datetime.now(UTC).isoformat(timespec="minutes")
        self._load = os.getloadavg()[0]
        self._machine = machine()
        self._versions = versions()

    def keep(self, figures: list[Figure]) -> None:
        """Write figures at once: a benchmark takes minutes, and the next may be stopped."""
        new = Results(
            begun=self._begun,
            machine=self._machine,
            versions=self._versions,
            load=self._load,
            figures=tuple(figures),
        )
        self.results = merged(self.results, new)
        write_results(self.results, self._file)
        if self._file.resolve() == RESULTS:
            write(self.results)


def _report(results: Results, names: list[str]) -> str:
    parts = [part for name in names for part in (f"# {name}", *benchmark_tables(results, name))]
    return "\n\n".join([*parts, "# targets", targets_table(results)])


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    typer.run(main)
