"""`turnkeeper verify`: see whether each log is what was appended, and print its head, to be kept elsewhere (S3).

Decisions of approvers are checked with it: whether they fit what was asked and what ran, and their signatures (A5).
So are readings: whether each memory has its gate and its evidence, and the evidence is in the documents (R8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.failure import FAILED, WRONG_USE, fail
from service.cli.settings import settings_or_fail
from service.core.ids import ReadingId, SessionId
from service.core.kept_heads import NOTHING_KEPT, KeptHeads, head_line, read_heads
from service.core.visible import visible

if TYPE_CHECKING:
    from service.bootstrap import StoreAudit
    from service.core.approval_trail import SignaturesWanted
    from service.core.verification import Verdict

_NAME_SHOWN = 120
"""Characters of a session's id: in a store that somebody else has changed it may be anything."""

_WHEN_SIGNATURES_ARE_WRONG = (
    "for decisions made before approver_keys was set say --unsigned-before TIME; for those signed with keys that are "
    "out of use set TURNKEEPER_APPROVER_KEYS to all keys, old and new, for this check"
)


def verify(
    sessions: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Check only these sessions and readings.")
    ] = None,
    database_url: Annotated[str | None, typer.Option(help="The store: sqlite:///PATH")] = None,
    heads: Annotated[Path | None, typer.Option(metavar="FILE", help="Compare with heads that were kept.")] = None,
    allow_deleted: Annotated[
        bool, typer.Option("--allow-deleted", help="A session that was kept in FILE and is gone is not wrong.")
    ] = False,
    unsigned_before: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Decisions made before this time, such as 2030-01-31, may be unsigned."),
    ] = None,
) -> None:
    """Check the log of each session and of each reading, also while the service runs.

    Prints the head of each log that is right (id, seq, hash): keep these lines elsewhere, and compare later with
    --heads. With the setting approver_keys the signature of each decision is checked. What is wrong goes to standard
    error, with its session or reading and its seq. Exit codes: 0 all is right, 1 something is wrong, 2 it could not be
    checked.
    """
    settings = settings_or_fail(database_url=database_url)
    kept: Mapping[SessionId, KeptHeads] = {} if heads is None else _read_heads(heads)
    # Imported here, so that --help and --version don't load the store.
    from service.bootstrap import look_at_store
    from service.core.approval_trail import SignaturesWanted
    from service.core.errors import StoreFailure

    signatures = SignaturesWanted(
        keys=settings.approvers(), unsigned_before=None if unsigned_before is None else _read_time(unsigned_before)
    )
    report = _Report()
    try:
        with look_at_store(settings.database_url) as audit:
            named = [SessionId(name) for name in sessions or ()]
            _check(audit, named, kept, signatures, report, allow_deleted=allow_deleted)
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


def _read_time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        fail(
            f"--unsigned-before {visible(text, _NAME_SHOWN)} is no time; write 2030-01-31 or 2030-01-31T12:00:00Z",
            exit_code=WRONG_USE,
        )
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _check(
    audit: StoreAudit,
    named: Iterable[SessionId],
    kept: Mapping[SessionId, KeptHeads],
    signatures: SignaturesWanted,
    report: _Report,
    *,
    allow_deleted: bool,
) -> None:
    named = list(dict.fromkeys(named))
    gone = {session for session in named if session in kept} if named else set(kept)
    for session in named or chain(audit.sessions(), map(SessionId, audit.readings())):
        verdict = _verdict(audit, session, kept.get(session, NOTHING_KEPT), signatures)
        if verdict is not None:
            gone.discard(session)
            report.take(session, verdict)
        elif named and session not in kept:
            fail(f"there is no session or reading {_shown(session)}", exit_code=WRONG_USE)
    for session in sorted(gone):
        report.miss(session, max(kept[session]), allowed=allow_deleted)
    if not named:
        for what in audit.homeless():
            report.stray(what)


def _verdict(audit: StoreAudit, log: SessionId, kept: KeptHeads, signatures: SignaturesWanted) -> Verdict | None:
    """Check one log; the heads of readings are kept beside those of sessions, under their ids."""
    return audit.verify(log, kept, signatures) or audit.verify_reading(ReadingId(log), kept)


@dataclass(slots=True)
class _Report:
    """Prints what was found, and counts it."""

    checked: int = 0
    wrong: int = 0
    elsewhere: int = 0
    signatures_wrong: bool = False

    def take(self, session: SessionId, verdict: Verdict) -> None:
        from service.core.verification import FaultKind

        self.checked += 1
        if verdict.fault is None:
            typer.echo(head_line(SessionId(_shown(session)), verdict.head))
            return
        self.wrong += 1
        self.signatures_wrong |= verdict.fault.kind is FaultKind.SIGNATURE
        _say(f"{_shown(session)}: seq {verdict.fault.seq}: {verdict.fault.what} ({verdict.fault.kind})")

    def miss(self, session: SessionId, last_seq: int, *, allowed: bool) -> None:
        self.elsewhere += not allowed
        _say(f"{_shown(session)}: gone, though the head of its record {last_seq} was kept: deleted, pruned or removed")

    def stray(self, what: str) -> None:
        self.elsewhere += 1
        _say(what)

    def end(self) -> None:
        if self.signatures_wrong:
            _say(_WHEN_SIGNATURES_ARE_WRONG)
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
