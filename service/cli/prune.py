"""`turnkeeper prune`: delete sessions that nobody has used for long, and readings that ended long ago (S7)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.failure import WRONG_USE, fail
from service.cli.settings import settings_or_fail

if TYPE_CHECKING:
    from service.core.ids import ReadingId, SessionId


def prune(
    older_than: Annotated[
        int | None,
        typer.Option(min=1, max=36_500, metavar="DAYS", help="Days without a change; else what retention_days says."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be deleted.")] = False,
    database_url: Annotated[str | None, typer.Option(help="The store: sqlite:///PATH")] = None,
) -> None:
    """Delete idle sessions and ended readings whose last change is older than so many days, and print their ids.

    A session that is busy stays, and so does one with a child that stays. The service must not run: it prunes by
    itself when retention_days is set. With --dry-run it may.
    """
    settings = settings_or_fail(database_url=database_url)
    days = older_than if older_than is not None else settings.retention_days
    if days == 0:
        fail("retention_days is 0, which keeps everything; say --older-than DAYS", exit_code=WRONG_USE)
    # Imported here, so that --help and --version don't load the store.
    from service.core.errors import StoreFailure, StoreLocked

    try:
        number = _would_prune(settings.database_url, days) if dry_run else _prune(settings.database_url, days)
    except StoreLocked as refusal:
        fail(f"{refusal}; stop the service first, or have it prune by itself with TURNKEEPER_RETENTION_DAYS")
    except StoreFailure as failure:
        fail(str(failure))
    what = "1 session or reading" if number == 1 else f"{number} sessions or readings"
    done = "would be deleted" if dry_run else "deleted"
    typer.echo(f"turnkeeper: {what} {done}: idle, and unchanged for more than {days} days", err=True)


def _prune(database_url: str, days: int) -> int:
    from service.bootstrap import look_at_store, prune_store

    # An opening for writing makes what is not there, which is not what a person who prunes wants.
    with look_at_store(database_url):
        pass
    return asyncio.run(prune_store(database_url, days, _print))


def _would_prune(database_url: str, days: int) -> int:
    from service.bootstrap import look_at_store

    number = 0
    with look_at_store(database_url) as audit:
        before = datetime.now(UTC) - timedelta(days=days)
        for gone in chain(audit.idle_before(before), audit.finished_before(before)):
            _print(gone)
            number += 1
    return number


def _print(gone: SessionId | ReadingId) -> None:
    typer.echo(gone)
