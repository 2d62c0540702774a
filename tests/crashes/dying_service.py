"""The service with a trap in its store: the process kills itself at a chosen write.

`CRASH_AT` in the environment holds the trap as JSON. Without it this is `python -m service`.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

TRAP_VARIABLE = "CRASH_AT"

READING_BEGUN = "reading begun"
TEXTS = "texts"
DOCUMENT = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """Die at the `nth` record of a type in a session whose first record contains `mark`, or in one below it.

    Likewise for readings. What they do that makes no record has a type too: `READING_BEGUN` and `TEXTS` are writes, a
    slice of texts each; `DOCUMENT` is a file that is read: `inside` is then while its process works.

    `place` is one of `WRITE_PLACES`; `delay_us` is how long after the beginning of a commit `during` is. `sessions`
    are those that were there before, and readings.
    """

    mark: str
    place: str
    type: str
    nth: int
    delay_us: int = 0
    sessions: Sequence[str] = ()

    def as_variable(self) -> dict[str, str]:
        """Give the environment that sets the trap."""
        return {TRAP_VARIABLE: json.dumps(asdict(self))}


def main() -> None:
    """Set the trap, then run the command line."""
    trap = os.environ.pop(TRAP_VARIABLE, None)
    if trap is not None:
        _set(Trap(**json.loads(trap)))
    from service.cli import main as run

    run()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class _Armed:
    """Looks at the drafts of each write, in the writer's thread."""

    def __init__(self, trap: Trap) -> None:
        self._trap = trap
        self._sessions = set(trap.sessions)
        self._counted: Counter[str] = Counter()
        self.reached = False

    def look(self, session: str, drafts: Iterable[Any]) -> None:
        """Die `before`, or remember for the other places that this is the write."""
        for draft in drafts:
            if draft.type == "session_created":
                self.own(session, draft.body)
            self._count(session, draft.type)
        self.at("before")

    def look_at(self, owner: str, what: str) -> None:
        """Do likewise for something that is no record."""
        self._count(owner, what)
        self.at("before")

    def own(self, owner: str, *said: bytes) -> None:
        """Count what belongs to this from now on, if what is said of it is ours."""
        if any(map(self._is_ours, said)):
            self._sessions.add(owner)

    def _count(self, owner: str, what: str) -> None:
        if owner in self._sessions:
            self._counted[what] += 1
            if (what, self._counted[what]) == (self._trap.type, self._trap.nth):
                self.reached = True

    def _is_ours(self, body: bytes) -> bool:
        # The first record of a session below names the one above.
        return any(name.encode() in body for name in (self._trap.mark, *self._sessions))

    def at(self, place: str) -> None:
        """Die here when this is the place."""
        if not self.reached or self._trap.place not in (place, "during"):
            return
        if self._trap.place == place:
            _die()
        elif place == "inside":
            threading.Thread(target=self._die_soon, daemon=True).start()

    def _die_soon(self) -> None:
        end = time.perf_counter() + self._trap.delay_us / 1e6
        while time.perf_counter() < end:
            pass
        _die()


def _watched(call: Callable[P, T], before: Callable[..., None], after: Callable[[], None]) -> Callable[P, T]:
    def watched(*given: P.args, **named: P.kwargs) -> T:
        before(*given, **named)
        result = call(*given, **named)
        after()
        return result

    return watched


def _set(trap: Trap) -> None:
    from service.adapters.log_sql.group_commit import GroupCommit
    from service.adapters.log_sql.transaction import GroupTransaction

    armed = _Armed(trap)

    def create(_: object, session: Any, drafts: Sequence[Any], *others: object) -> None:
        armed.look(session.id, drafts)

    def append(_: object, session: str, seq: int, drafts: Sequence[Any], *others: object) -> None:
        armed.look(session, drafts)

    _watch_readings(armed)
    GroupTransaction.create = _watched(GroupTransaction.create, create, _nothing)
    GroupTransaction.append = _watched(GroupTransaction.append, append, _nothing)
    GroupTransaction.flush = _watched(GroupTransaction.flush, _nothing, partial(armed.at, "inside"))
    GroupCommit.run = _watched(GroupCommit.run, _nothing, partial(armed.at, "after"))


def _watch_readings(armed: _Armed) -> None:
    from service.adapters.documents.processes import DocumentProcesses
    from service.adapters.log_sql.reading_log import SqlReadings
    from service.adapters.log_sql.transaction import GroupTransaction

    def create(_: object, reading: Any, drafts: Sequence[Any], *others: object, **named: object) -> None:
        armed.own(reading.id, *(draft.body for draft in drafts))

    def begin(_: object, hidden: str, reading: Any, *others: object) -> None:
        armed.own(hidden, reading.id.encode())
        armed.look_at(hidden, READING_BEGUN)

    def texts(_: object, hidden: str, *others: object) -> None:
        armed.look_at(hidden, TEXTS)

    def publish(_: object, hidden: str, reading: Any, drafts: Sequence[Any], *others: object) -> None:
        armed.look(reading.id, drafts)

    def append(_: object, reading: str, seq: int, drafts: Sequence[Any], *others: object) -> None:
        armed.look(reading, drafts)

    SqlReadings.create_reading = _watched(SqlReadings.create_reading, create, _nothing)
    GroupTransaction.begin_reading = _watched(GroupTransaction.begin_reading, begin, _nothing)
    GroupTransaction.add_texts = _watched(GroupTransaction.add_texts, texts, _nothing)
    GroupTransaction.publish_reading = _watched(GroupTransaction.publish_reading, publish, _nothing)
    GroupTransaction.append_to_reading = _watched(GroupTransaction.append_to_reading, append, _nothing)

    whole, child = DocumentProcesses.read, DocumentProcesses._start  # pyright: ignore[reportPrivateUsage]

    async def read(self: DocumentProcesses, file: Any) -> Any:
        armed.own(file.name, file.name.encode())
        armed.look_at(file.name, DOCUMENT)
        text = await whole(self, file)
        armed.at("after")
        return text

    async def start(self: DocumentProcesses, file: Any) -> Any:
        process = await child(self, file)
        armed.at("inside")
        return process

    DocumentProcesses.read = read
    DocumentProcesses._start = start  # pyright: ignore[reportPrivateUsage]


def _nothing(*given: object, **named: object) -> None:
    pass


if __name__ == "__main__":
    main()
