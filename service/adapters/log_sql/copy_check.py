"""Says what is in a copy of a store, and whether its logs are what was appended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from service.adapters.log_sql.audit import SqlAudit, open_audit_of
from service.adapters.log_sql.sqlite_copy import no_step
from service.core.ids import SessionId
from service.core.kept_heads import head_line
from service.core.verification import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContents:
    """What is in a store."""

    sessions: int
    readings: int
    last_pos: int
    heads_sha256: str | None
    """Over what `turnkeeper verify` prints of it; None when it was not verified."""
    wrong: int = 0
    """How many logs are wrong, and things that belong to none."""


def contents_of(path: Path, *, verify: bool, at_each_step: Callable[[], object] = no_step) -> StoreContents:
    """Count what is in a store of this version's schema, and verify each log if wanted.

    Raises:
        StoreFailure: it can't be read.
    """
    with open_audit_of(str(path)) as audit:
        count = _Count(audit, at_each_step)
        if verify:
            count.verify()
        else:
            count.count()
        return StoreContents(
            sessions=count.sessions,
            readings=count.readings,
            last_pos=audit.last_pos(),
            heads_sha256=count.heads.hexdigest() if verify else None,
            wrong=count.wrong,
        )


class _Count:
    def __init__(self, audit: SqlAudit, at_each_step: Callable[[], object]) -> None:
        self.sessions = self.readings = self.wrong = 0
        self.heads = sha256()
        self._audit = audit
        self._at_each_step = at_each_step

    def count(self) -> None:
        self.sessions = sum(1 for _ in self._audit.sessions())
        self.readings = sum(1 for _ in self._audit.readings())

    def verify(self) -> None:
        for session in self._audit.sessions():
            self.sessions += 1
            self._take(session, self._audit.verify(session))
        for reading in self._audit.readings():
            self.readings += 1
            self._take(reading, self._audit.verify_reading(reading))
        self.wrong += len(self._audit.homeless())

    def _take(self, log: str, verdict: Verdict | None) -> None:
        self._at_each_step()
        if verdict is None or verdict.fault is not None:
            self.wrong += 1
        else:
            self.heads.update(f"{head_line(SessionId(log), verdict.head)}\n".encode(errors="surrogateescape"))
