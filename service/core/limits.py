"""The bounds of a turn: what a request may lower, and what the model and the client are told (T5, T12)."""

from __future__ import annotations

from dataclasses import replace

from service.core.baseline import Limits
from service.core.errors import TurnkeeperError
from service.core.json_types import JsonObject

# Limits for which 0 means "no bound", so that 0 is the highest value and not the lowest.
_ZERO_IS_UNBOUNDED = frozenset({"turn_time_s"})


class LimitTooHigh(TurnkeeperError):
    """A request asked for more than is allowed; the text names the limit, the bound and the setting."""

    def __init__(self, name: str, asked: object, allowed: object) -> None:
        super().__init__(
            f"limits.{name} may be lowered only: {_say(asked)} was asked, {_say(allowed)} is allowed "
            f"(setting {name}, or the session's own limit)"
        )
        self.name = name


def lowered(allowed: Limits, asked: JsonObject | None) -> Limits:
    """Give `allowed` with the limits that a request lowers; names that `asked` lacks stay as they are.

    Raises:
        LimitTooHigh: one of them would rise.
    """
    if not asked:
        return allowed
    for name, value in asked.items():
        bound = getattr(allowed, name)
        if _is_higher(name, value, bound):
            raise LimitTooHigh(name, value, bound)
    return replace(allowed, **asked)


def _is_higher(name: str, asked: int, allowed: int) -> bool:
    if name == "repeat_detection":
        # Detection is the stricter value: it may be switched on, not off.
        return bool(allowed) and not asked
    if name in _ZERO_IS_UNBOUNDED and 0 in (asked, allowed):
        return allowed != 0
    return asked > allowed


def _say(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
