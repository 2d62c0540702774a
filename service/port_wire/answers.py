"""The four answers that a tool can give, and their JSON form on the wire.

Above: the ports and their tools. Below: nothing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]


class DataClass(StrEnum):
    """Say how widely a result may be shown, from low to high."""

    PUBLIC = "public"
    INTERNAL = "internal"
    SECRET = "secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Carry what the tool found; labels left as None are those of the tool's spec (X6)."""

    content: JsonValue
    data_class: DataClass | None = None
    untrusted: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Say that the tool tried and could not, in words that help the model to do better."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """Say that the tool is not allowed to do this, now or later."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    """Ask for a human's decision on this one call (A1b)."""

    reason: str


Answer = Result | Failed | Denied | PendingApproval


def to_wire(answer: Answer) -> JsonObject:
    """Give the JSON object that `POST /calls` answers with."""
    match answer:
        case Result():
            wire: dict[str, JsonValue] = {"status": "result"}
            if answer.data_class is not None:
                wire["class"] = answer.data_class.value
            if answer.untrusted is not None:
                wire["untrusted"] = answer.untrusted
            # Last: of an answer that is too large only the beginning is read (X2), and labels belong to it.
            wire["content"] = answer.content
            return wire
        case Failed():
            return {"status": "failed", "message": answer.message}
        case Denied():
            return {"status": "denied", "reason": answer.reason}
        case PendingApproval():
            return {"status": "pending_approval", "reason": answer.reason}


def to_bytes(wire: JsonObject) -> bytes:
    """Encode as UTF-8 JSON. NaN and infinity are no JSON, so they raise ValueError."""
    return json.dumps(wire, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
