"""Algorithm 1 of GRU-Mem with the rules of section 12, as short as it can be said, for one document at one level.

`replies` are what the model says of each chunk, three at most; None for a candidate that was cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Said = tuple[bool, str | None, bool] | str | None
"""update, candidate and exit; a text that doesn't parse; or None, a candidate that was cut."""


@dataclass
class Reference:
    gates: list[tuple[int, bool, bool]] = field(default_factory=list[tuple[int, bool, bool]])
    memory: str | None = None
    seen: int = 0
    used: int = 0
    calls: int = 0
    exceeded: int = 0
    unparsed: int = 0
    refused: int = 0
    outcome: str = "not_found"


def read(replies: Sequence[Sequence[Said]], size: Callable[[str], int], budget: int, *, asked: bool) -> Reference:
    """Read it all."""
    done = Reference()
    for chunk, tries in enumerate(replies, start=1):
        said = next((one for one in tries[:3] if not isinstance(one, str)), "never")
        done.calls += next((n for n, one in enumerate(tries[:3], start=1) if not isinstance(one, str)), 3)
        done.seen += 1
        leave = False
        if said == "never":
            done.unparsed += 1
        elif said is None:
            done.exceeded += 1
        elif not isinstance(said, str):
            update, candidate, leave = said
            done.gates.append((chunk, update, leave))
            if update and candidate is not None and size(candidate) <= budget:
                done.memory, done.used = candidate, done.used + 1
            elif update:
                done.exceeded += 1
            done.refused += asked and leave and done.memory is None
        if asked and leave and done.memory is not None:
            break
    if done.memory is not None:
        done.calls, done.outcome = done.calls + 1, "answered"
    return done
