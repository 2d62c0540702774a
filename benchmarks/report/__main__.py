"""`python -m benchmarks.report`: write the page and the pictures from the published figures, or compare them."""

from __future__ import annotations

from typing import Annotated

import typer

from benchmarks.report.files import RESULTS, differences, write
from benchmarks.results import read_results


def main(
    check: Annotated[bool, typer.Option("--check/--write", help="Compare only, or write.")] = True,
) -> None:
    """Say whether docs/performance.md and its pictures are what benchmarks/results.json says, or write them."""
    if check:
        found = differences()
        for line in found:
            typer.echo(f"docs/{line}: run python -m benchmarks.report --write and commit it", err=True)
        raise typer.Exit(1 if found else 0)
    if not RESULTS.exists():
        typer.echo("there are no figures yet: run python -m benchmarks", err=True)
        raise typer.Exit(1)
    write(read_results(RESULTS))


if __name__ == "__main__":
    typer.run(main)
