"""`turnkeeper verify`: see whether each log is what was appended, and print its head, to be kept elsewhere (S3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.failure import FAILED, WRONG_USE, fail
from service.cli.settings import settings_or_fail
from service.core.ids import SessionId
from service.core.kept_heads import NOTHING_KEPT, KeptHeads, head_line, read_heads
from service.core.verification import Verdict
from service.core.visible import visible

if TYPE_CHECKING:
    from service.bootstrap import StoreAudit

_NAME_SHOWN = 120
"""Characters of a session's id: in a store that somebody else has changed it may be anything."""


def verify(
    sessions: Annotated[list[str] | None, typer.Argument(metavar="SESSION", help="Check only these.")] = None,
    database_url: Annotated[str | None, typer.Option(help="The store: sqlite:///PATH")] = None,
    heads: Annotated[Path | None, typer.Option(metavar="FILE", help="Compare with heads that were kept.")] = None,
    allow_deleted: Annotated[
        bool, typer.Option("--allow-deleted", help="A session that was kept in FILE and is gone is not wrong.")
    ] = False,
) -> None:
    """Check the log of each session, also while the service runs.

    Prints the head of each log that is right (session, seq, hash): keep these lines elsewhere, and compare later with
    --heads. What is wrong goes to standard error, with its session and its seq. Exit codes: 0 all is right, 1 something
    is wrong, 2 it could not be checked.
    """
    settings = settings_or_fail(database_url=database_url)
    kept: Mapping[SessionId, KeptHeads] = {} if heads is None else _read_heads(heads)
    # Imported here, so that --help and --version don't load the store.
    from service.bootstrap import look_at_store
    from service.core.errors import StoreFailure

    report = _Report()
    try:
        with look_at_store(settings.database_url) as audit:
            _check(audit, [SessionId(name) for name in sessions or ()], kept, report, allow_deleted=allow_deleted)
    except StoreFailure as failure:
        fail(str(failure), exit_code=WRONG_USE)
    report.end()


def _read_heads(path: Path) -> Mapping[SessionId, KeptHeads]:
    try:
        with path.open(encoding="utf-8") as lines:
            return read_heads(lines)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        fail(f"{path} can't be read: {reason}", exit_code=WRONG_USE)


def _check(
    audit: StoreAudit,
    named: Iterable[SessionId],
    kept: Mapping[SessionId, KeptHeads],
    report: _Report,
    *,
    allow_deleted: bool,
) -> None:
    named = list(dict.fromkeys(named))
    gone = {session for session in named if session in kept} if named else set(kept)
    for session in named or audit.sessions():
        verdict = audit.verify(session, kept.get(session, NOTHING_KEPT))
        if verdict is not None:
            gone.discard(session)
            report.take(session, verdict)
        elif named and session not in kept:
            fail(f"there is no session {_shown(session)}", exit_code=WRONG_USE)
    for session in sorted(gone):
        report.miss(session, max(kept[session]), allowed=allow_deleted)
    if not named:
        for what in audit.homeless():
            report.stray(what)


@dataclass(slots=True)
class _Report:
    """Prints what was found, and counts it."""

    checked: int = 0
    wrong: int = 0
    elsewhere: int = 0

    def take(self, session: SessionId, verdict: Verdict) -> None:
        self.checked += 1
        if verdict.fault is None:
            typer.echo(head_line(SessionId(_shown(session)), verdict.head))
            return
        self.wrong += 1
        _say(f"{_shown(session)}: seq {verdict.fault.seq}: {verdict.fault.what} ({verdict.fault.kind})")

    def miss(self, session: SessionId, last_seq: int, *, allowed: bool) -> None:
        self.elsewhere += not allowed
        _say(f"{_shown(session)}: gone, though the head of its record {last_seq} was kept: deleted, pruned or removed")

    def stray(self, what: str) -> None:
        self.elsewhere += 1
        _say(what)

    def end(self) -> None:
        logs = "1 log" if self.checked == 1 else f"{self.checked} logs"
        if self.wrong == 0:
            _say(f"{logs} checked, nothing wrong in them")
        else:
            _say(f"{logs} checked, {self.wrong} of them wrong")
        if self.wrong or self.elsewhere:
            raise typer.Exit(FAILED)


def _say(message: str) -> None:
    typer.echo(f"turnkeeper: {message}", err=True)


def _shown(session: SessionId) -> str:
    return visible(session, _NAME_SHOWN)
