"""The page `docs/performance.md`, made from the figures.

Above: the files of the report. Below: targets, tables, pictures, and the words about each benchmark.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.report.descriptions import DESCRIPTIONS, Description
from benchmarks.report.plots import PLOTS
from benchmarks.report.profile import PROFILE
from benchmarks.report.tables import Table, as_markdown, tables_of
from benchmarks.report.targets import TARGETS, verdict
from benchmarks.results import Results

_HEAD = """\
# Performance

Made from `benchmarks/results.json` by `make bench`; don't edit it here. Times belong to the machine below, and ratios
count more than they do: all subjects of a benchmark are measured in the same run, in turn, round after round, and each
figure is the median of its rounds."""
_TARGETS = "## What is to be reached"
_HOW = """\
## How it is measured

A fake llama-server, one thread in C, streams what is asked for at the pace that is asked for, and writes into each
token when it was sent. The measured server has one core for itself, the fake and the client share another. Turnkeeper
runs as it does in use (`turnkeeper serve`, a durable store on disk, all limits on), except that its gate lets more
completions through than are asked for. While one server is measured the others are stopped (SIGSTOP), and what was
written before is on the disk: what idle servers do by themselves made others up to half as slow again. nginx passes
through unbuffered, with one worker. Peers are small streaming chat servers, each made with one framework as its own
documentation does it, from `benchmarks/peers/`. CPU time is that of the server's processes, as the system's scheduler
counts it.

Again, on a machine with two free cores, a C compiler and nginx (without it, its rows are left out):

```sh
make bench                                            # everything: prints the tables, and writes this page
make bench ARGS="--only paced,flood --no-peers"       # a part; the figures of the others stay
make bench ARGS="--rounds 1 --seconds 1 --results /tmp/try.json"   # a trial, which writes only that file
python -m benchmarks.peers install all                # the peers, each into an environment of its own
```"""


def page(results: Results) -> str:
    """Write the page."""
    parts = [_HEAD, _TARGETS, targets_table(results), PROFILE, _HOW, *_benchmarks(results), _surroundings(results)]
    return "\n\n".join(parts) + "\n"


def targets_table(results: Results) -> str:
    """Tabulate the targets: what is wanted, what was measured, and whether that is enough."""
    lines: list[tuple[str, ...]] = []
    for target in TARGETS:
        outcome = target.compute(results)
        measured = "-" if outcome is None else target.written(outcome)
        lines.append((target.measure, target.bound_in_words(), measured, verdict(target, outcome)))
    head = ("measure", "target", "measured", "")
    return as_markdown(Table(caption="", head=head, lines=tuple(lines), words=len(head)))


def benchmark_tables(results: Results, benchmark: str) -> list[str]:
    """Tabulate the figures of one benchmark."""
    figures = [figure for figure in results.figures if figure.benchmark == benchmark]
    return [as_markdown(table) for table in tables_of(figures)]


def benchmarks_of(results: Results) -> list[str]:
    """Name the benchmarks that were run, in the order of the page."""
    run = {figure.benchmark for figure in results.figures}
    return [name for name in DESCRIPTIONS if name in run] + sorted(run - DESCRIPTIONS.keys())


def picture_name(plot_name: str) -> str:
    """Name the file of a picture."""
    return f"performance-{plot_name}.svg"


def _benchmarks(results: Results) -> Iterable[str]:
    for name in benchmarks_of(results):
        description = DESCRIPTIONS.get(name, Description(heading=name, text=""))
        yield f"## {description.heading}"
        if description.text:
            yield description.text
        for plot in PLOTS:
            if plot.benchmark == name and plot.bars(results) is not None:
                yield f"![{plot.title}](images/{picture_name(plot.name)})"
        yield from benchmark_tables(results, name)


def _surroundings(results: Results) -> str:
    machine = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    return "\n".join(
        [
            "## The machine and the versions",
            "",
            f"- machine: {machine.processor}, {machine.cores} cores, {machine.memory_gib:g} GiB",
            f"- system: {machine.system}",
            f"- versions: {versions}",
            f"- begun: {results.begun}, at a load average of {results.load:.1f}",
        ]
    )
