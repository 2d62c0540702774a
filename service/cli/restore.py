"""`turnkeeper restore`: a backup takes the store's place, and what was there is kept beside it (D2)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from service.cli.settings import settings_or_fail
from service.cli.store_copies import in_words, told_when_it_fails


def restore(
    path: Annotated[Path, typer.Argument(help="The backup.", readable=False)],
    replace: Annotated[
        bool, typer.Option("--replace", help="Set aside a store that is there: it is renamed, with the time.")
    ] = False,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Have SQLite check the copy, and don't verify the logs in it.")
    ] = False,
    database_url: Annotated[str | None, typer.Option(help="The store: sqlite:///PATH")] = None,
) -> None:
    """Put a copy of a backup in the store's place; the service must not run.

    The copy is checked, its logs too, and brought to this version's schema before anything of the store is touched.
    The backup stays as it is. Run it as the user that the service runs as. Killed at any moment it leaves the old
    store or the new one, whole. Exit codes: 0 done, 1 not done, 2 wrong use, 130 interrupted.
    """
    settings = settings_or_fail(database_url=database_url)
    # Imported here, so that --help and --version don't load the store.
    from service.bootstrap import restore_store

    with told_when_it_fails("the store is as it was, or the restored one as a whole"):
        done = restore_store(path, settings.database_url, replace=replace, verify=not no_verify)
    typer.echo(done.path)
    size_bytes = done.path.stat().st_size
    aside = f"; what was there is {done.set_aside}" if done.set_aside else ""
    typer.echo(f"turnkeeper: restored {in_words(done.contents, size_bytes)}{aside}", err=True)
    if os.name == "posix":
        owner, folder_owner = done.path.stat().st_uid, done.path.parent.stat().st_uid
        if warning := warning_about_owner(done.path, owner=owner, folder_owner=folder_owner):
            typer.echo(f"turnkeeper: {warning}", err=True)


def warning_about_owner(store: Path, *, owner: int, folder_owner: int) -> str | None:
    """Say in one line that root restored what another user's service couldn't open; None where that isn't so."""
    if owner != 0 or folder_owner == 0:
        return None
    return (
        f"{store} belongs to root now, and its folder to another user; if the service runs as that user: "
        f"chown --reference={store.parent} {store} {store}.lock"
    )
