"""The events of a turn as `turnkeeper chat` takes them: JSON of a service that may be of another version."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import cast, get_args

from service.codec import RECORD_TYPES, from_json, parse_time
from service.core.json_types import JsonObject
from service.core.records import Record
from service.core.signals import Signal
from service.ports.running_service import ToldEvent

_KINDS: dict[str, type[Record | Signal]] = {**RECORD_TYPES, **{kind.type: kind for kind in get_args(Signal)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNews:
    """What happened, and where: the stream of a turn tells approvals of the turns that it was handed over to."""

    session: str
    turn: str
    what: Record | Signal
    time: datetime | None = None


def turn_news(event: ToldEvent) -> TurnNews | None:
    """Read an event; None when it is not one that this version knows."""
    return news_of(event.type, event.data)


def news_of(kind: str, data: JsonObject) -> TurnNews | None:
    """Read an event, or a record of a log; None when it is not one that this version knows."""
    known = _KINDS.get(kind)
    if known is None:
        return None
    try:
        time: object = data.get("time")
        return TurnNews(
            session=_text(data.get("session")),
            turn=_text(data.get("turn")),
            what=cast(Record | Signal, from_json(known, data)),
            time=parse_time(time) if isinstance(time, str) else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
