"""`turnkeeper read`: ask a service that runs a question over documents of any length (D2, section 12)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.failure import WRONG_USE, fail
from service.cli.service_address import ServicePlace, service_place
from service.cli.unanswered import told_in_one_line
from service.core.reading.options import ExitMode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.cli.read_run import ReadingRun
    from service.core.json_types import JsonObject
    from service.ports.running_service import SentFile

_LEVEL_OF_SEVERAL = 2


def read(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Text, Markdown, HTML or PDF; - reads text from stdin.")
    ],
    query: Annotated[str, typer.Option("--query", metavar="TEXT", help="The question.")],
    level: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=2,
            metavar="LEVEL",
            help="2 reads each file by itself, and then what was kept of each; so do several.",
        ),
    ] = None,
    exit_mode: Annotated[
        ExitMode, typer.Option("--exit", help="When it may stop before the last chunk.")
    ] = ExitMode.NEVER,
    memory_budget: Annotated[int | None, typer.Option(min=16, metavar="TOKENS", help="Size of the memory.")] = None,
    chunk_tokens: Annotated[int | None, typer.Option(min=128, metavar="TOKENS", help="Size of a chunk.")] = None,
    parallel: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Files that are read at the same time.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Where the service is; else the settings host and port say it.")
    ] = None,
    api_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file with your API key; else TURNKEEPER_API_KEY has it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reading as JSON in place of its answer.")] = False,
    no_progress: Annotated[bool, typer.Option("--no-progress", help="Show no progress.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer alone, and what is wrong.")] = False,
) -> None:
    """Read files chunk by chunk and answer a question over them.

    The answer goes to standard output; progress, and the parts that the answer comes from, to standard error. Ctrl-C
    cancels the reading. Exit codes: 0 answered, 1 failed or cancelled, 2 wrong use, 3 not found in the files,
    130 interrupted.
    """
    place = service_place(url, api_key_file)
    if any("\ud800" <= letter <= "\udfff" for letter in query):
        fail("--query is no UTF-8", exit_code=WRONG_USE)
    fields = {
        "query": query,
        "level": _level(level, len(files), quiet=quiet),
        "exit": exit_mode.value,
        "memory_budget": memory_budget,
        "chunk_tokens": chunk_tokens,
        "parallel": parallel,
    }
    given = {name: str(value) for name, value in fields.items() if value is not None}
    raise typer.Exit(_read(place, files, given, progress=not (no_progress or quiet), quiet=quiet, as_json=as_json))


def _level(level: int | None, files: int, *, quiet: bool) -> int | None:
    if files == 1 or level == _LEVEL_OF_SEVERAL:
        return level
    if level is not None:
        fail(f"several files are read at level {_LEVEL_OF_SEVERAL}; leave --level out", exit_code=WRONG_USE)
    if not quiet:
        _say(f"{files} files are read at level {_LEVEL_OF_SEVERAL}: each by itself, and then what was kept of each")
    return _LEVEL_OF_SEVERAL


def _read(
    place: ServicePlace, paths: Sequence[str], fields: Mapping[str, str], *, progress: bool, quiet: bool, as_json: bool
) -> int:
    # Imported here, so that --help and --version don't load all of it.
    from service.cli.read_files import UnusableFile, opened
    from service.cli.read_report import report

    try:
        with told_in_one_line(place.address), opened(paths) as files:
            run, resource = asyncio.run(_followed(place, files, fields, progress=progress, as_json=as_json))
    except UnusableFile as fault:
        fail(str(fault), exit_code=WRONG_USE)
    except OSError as error:
        fail(f"a file can't be read: {error.strerror}")
    return report(run, resource, quiet=quiet)


async def _followed(
    place: ServicePlace, files: Sequence[SentFile], fields: Mapping[str, str], *, progress: bool, as_json: bool
) -> tuple[ReadingRun, JsonObject | None]:
    from service.bootstrap import running_service
    from service.cli.read_board import ReadingBoard
    from service.cli.read_progress import progress_of
    from service.cli.read_run import ReadingRun

    board = ReadingBoard()
    async with running_service(place.address, place.api_key) as service:
        async with progress_of(board, told=progress) as shown:
            run = ReadingRun(service=service, board=board, progress=shown)
            await run.follow(fields, files)
        return run, await service.get(run.location) if as_json and run.location is not None else None


def _say(message: str) -> None:
    typer.echo(f"turnkeeper: {message}", err=True)
