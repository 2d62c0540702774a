"""What is said of the store (S2, S7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from service.core.diagnosis.findings import Code, Finding, found

GIB = 1024**3
LEAST_FREE_BYTES = GIB
LEAST_FREE_SHARE = 0.05
LARGE_STORE_BYTES = 5 * GIB
"""From here on a store that nothing is ever deleted from is worth a word."""


class StoreState(StrEnum):
    """What a look at the store showed."""

    MEMORY = "memory"
    ABSENT = "absent"
    READABLE = "readable"
    OLDER = "older"
    NEWER = "newer"
    DAMAGED = "damaged"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFacts:
    """A store as it was seen; `said` is the clause that came with a state that isn't `readable`.

    `read_only` names the file or folder that may not be written; `in_use` says that some process has it open, None
    where that can't be told; `checked` is False where the check of all pages was ended for its time.
    """

    state: StoreState
    path: str = ""
    said: str = ""
    store_bytes: int = 0
    read_only: str | None = None
    in_use: bool | None = None
    checked: bool = True
    free_bytes: int | None = None
    disk_bytes: int | None = None
    retention_days: int = 0


def store_findings(facts: StoreFacts) -> Iterator[Finding]:
    """Say what a look at the store showed."""
    return found(facts, (_state, _read_only, _in_use, _disk, _never_pruned))


def _state(facts: StoreFacts) -> Finding:
    code, do = _STATES[facts.state]
    return Finding(code=code, says=_told(facts), do=do)


_STATES = {
    StoreState.MEMORY: (
        Code.STORE_KEEPS_NOTHING,
        "Set TURNKEEPER_DATABASE_URL to sqlite:///FOLDER/FILE, unless that is what you want.",
    ),
    StoreState.ABSENT: (Code.STORE_ABSENT, ""),
    StoreState.READABLE: (Code.STORE_OK, ""),
    StoreState.OLDER: (Code.STORE_OLDER, "Back it up before: `turnkeeper backup PATH`."),
    StoreState.NEWER: (
        Code.STORE_NEWER,
        "Start that version again, or restore the backup that was made before it was started.",
    ),
    StoreState.DAMAGED: (
        Code.STORE_DAMAGED,
        "Stop the service, copy the file and what is beside it away, and restore a backup with `turnkeeper restore`.",
    ),
    StoreState.UNREADABLE: (
        Code.STORE_UNREADABLE,
        "Let this user read it, or set TURNKEEPER_DATABASE_URL to where the store is.",
    ),
}


def _told(facts: StoreFacts) -> str:
    match facts.state:
        case StoreState.MEMORY:
            return "memory: keeps nothing: all sessions end with the process."
        case StoreState.ABSENT:
            return f"{facts.said[:1].upper()}{facts.said[1:]}; the first start makes it."
        case StoreState.READABLE:
            unchecked = "" if facts.checked else ", too large to be checked whole here (`turnkeeper verify` does)"
            return f"{facts.path} is there and can be read: {in_words(facts.store_bytes)}{unchecked}."
        case _:
            return f"{facts.said.rstrip('.')}."


def _read_only(facts: StoreFacts) -> Finding | None:
    if facts.read_only is None:
        return None
    return Finding(
        code=Code.STORE_NOT_WRITABLE,
        says=f"{facts.read_only} can't be written by this user, so the service would not start as this user.",
        do="Run doctor as the user that the service runs as, or give that user the right to write there.",
    )


def _in_use(facts: StoreFacts) -> Finding | None:
    if not facts.in_use:
        return None
    return Finding(code=Code.STORE_IN_USE, says="A process has it open, as a running service does; a second can't.")


def _disk(facts: StoreFacts) -> Finding | None:
    free, disk = facts.free_bytes, facts.disk_bytes
    if free is None or not disk or (free >= LEAST_FREE_BYTES and free >= LEAST_FREE_SHARE * disk):
        return None
    return Finding(
        code=Code.DISK_NEARLY_FULL,
        says=(
            f"The disk of the store has {in_words(free)} left of {in_words(disk)}. When it is full each turn fails "
            "at its next record."
        ),
        do="Make room there, or delete old sessions: `turnkeeper prune`, or the setting retention_days.",
    )


def _never_pruned(facts: StoreFacts) -> Finding | None:
    if facts.retention_days or facts.store_bytes < LARGE_STORE_BYTES:
        return None
    return Finding(
        code=Code.STORE_NEVER_PRUNED,
        says=f"The store has {in_words(facts.store_bytes)}, and nothing is ever deleted (retention_days is 0).",
        do="Set TURNKEEPER_RETENTION_DAYS, or run `turnkeeper prune` now and then, if old sessions may go.",
    )


def in_words(size: int) -> str:
    """Say a number of bytes with the unit that fits."""
    amount = float(size)
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
