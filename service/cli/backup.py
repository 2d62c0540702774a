"""`turnkeeper backup`: a checked copy of the store in one file, also while the service runs (D2)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from service.cli.failure import FAILED
from service.cli.settings import settings_or_fail
from service.cli.store_copies import NOT_IN_A_BACKUP, in_words, told_when_it_fails


def backup(
    path: Annotated[
        Path, typer.Argument(help="The file to write; in a folder it gets a name with the time.", readable=False)
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Have SQLite check the copy, and don't verify the logs in it.")
    ] = False,
    database_url: Annotated[str | None, typer.Option(help="The store: sqlite:///PATH")] = None,
) -> None:
    """Copy the store as it is at one moment into one file, also while the service runs, and check the copy.

    The logs in the copy are verified, which reads all of it; with --no-verify they are not. The file's name goes to
    standard output, what is in it to standard error. It holds what people said, readable by its owner alone. Not in it:
    the file of API keys, turnkeeper.toml, the agents file, keys that sign. Exit codes: 0 done, 1 not done, or done
    with logs that are wrong in the store too, 2 wrong use, 130 interrupted. What is not done leaves nothing behind.
    """
    settings = settings_or_fail(database_url=database_url)
    # Imported here, so that --help and --version don't load the store.
    from service.bootstrap import back_up_store

    with told_when_it_fails("there is no backup"):
        made = back_up_store(settings.database_url, path, force=force, verify=not no_verify)
    typer.echo(made.path)
    typer.echo(f"turnkeeper: backed up {in_words(made.contents, made.size_bytes)}; {NOT_IN_A_BACKUP}", err=True)
    if made.contents.wrong:
        typer.echo(
            f"turnkeeper: something is wrong in the logs, in the store as in {made.path}: turnkeeper verify says what",
            err=True,
        )
        raise typer.Exit(FAILED)
