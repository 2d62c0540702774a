"""`turnkeeper export`: the log of a session or a reading as a file of its own (D2)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from service.cli.failure import WRONG_USE, fail
from service.cli.settings import settings_or_fail
from service.core.visible import visible


def export(
    log: Annotated[str, typer.Argument(metavar="ID", help="A session or a reading.")],
    output: Annotated[Path | None, typer.Option(help="Write this file instead of printing.")] = None,
    database_url: Annotated[str | None, typer.Option(help="The store: sqlite:///PATH")] = None,
) -> None:
    """Print all records of a session or of a reading as they are at this moment, each a line of JSON.

    The lines are those of GET /sessions/ID/records as application/x-ndjson. It may run beside the service. Exit codes:
    0 done, 1 there is no such log, or it can't be written, 2 the store can't be read.
    """
    settings = settings_or_fail(database_url=database_url)
    # Imported here, so that --help and --version don't load the store.
    from service.bootstrap import exported
    from service.core.errors import StoreFailure

    try:
        with exported(settings.database_url, log) as lines:
            if lines is None:
                fail(f"there is no session or reading {visible(log, 120)}")
            _write(lines, output)
    except StoreFailure as failure:
        fail(str(failure), exit_code=WRONG_USE)


def _write(lines: Iterator[bytes], output: Path | None) -> None:
    try:
        if output is None:
            sys.stdout.buffer.writelines(lines)
            sys.stdout.buffer.flush()
        else:
            _write_file(lines, output)
    except BrokenPipeError:
        # Whoever reads has enough; the command line's library ends without a word.
        raise
    except OSError as error:
        fail(f"{output or 'standard output'} can't be written: {error.strerror}")


def _write_file(lines: Iterator[bytes], output: Path) -> None:
    # For its owner's eyes, as the store is; and a file that is there is not lost to an export that fails.
    part = output.with_name(f".{output.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb") as written:
            written.writelines(lines)
        part.replace(output)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()
