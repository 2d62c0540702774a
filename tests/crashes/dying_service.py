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


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """Die at the `nth` record of a type in the sessions whose first record contains `mark`.

    `place` is one of `WRITE_PLACES`; `delay_us` is how long after the beginning of a commit `during` is. `session`
    adds one that was there before.
    """

    mark: str
    place: str
    type: str
    nth: int
    delay_us: int = 0
    session: str | None = None

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
        self._mark = trap.mark.encode()
        self._sessions = {trap.session}
        self._counted: Counter[str] = Counter()
        self.reached = False

    def look(self, session: str, drafts: Iterable[Any]) -> None:
        """Die `before`, or remember for the other places that this is the write."""
        for draft in drafts:
            if draft.type == "session_created" and self._mark in draft.body:
                self._sessions.add(session)
            if session not in self._sessions:
                continue
            self._counted[draft.type] += 1
            if (draft.type, self._counted[draft.type]) == (self._trap.type, self._trap.nth):
                self.reached = True
        self.at("before")

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

    def nothing(*given: object) -> None:
        pass

    GroupTransaction.create = _watched(GroupTransaction.create, create, nothing)
    GroupTransaction.append = _watched(GroupTransaction.append, append, nothing)
    GroupTransaction.flush = _watched(GroupTransaction.flush, nothing, partial(armed.at, "inside"))
    GroupCommit.run = _watched(GroupCommit.run, nothing, partial(armed.at, "after"))


if __name__ == "__main__":
    main()
