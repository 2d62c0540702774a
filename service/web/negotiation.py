"""In which form an answer is wanted: `Accept` (RFC 9110) and `Prefer: respond-async` (RFC 7240). Pure (H1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

EVENT_STREAM = "text/event-stream"
JSON = "application/json"
NDJSON = "application/x-ndjson"
PLAIN_TEXT = "text/plain"
HTML = "text/html"
MULTIPART = "multipart/form-data"

_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


class AnswerForm(StrEnum):
    """How the answer to a started turn comes: as events, as the finished turn, or at once."""

    STREAM = "stream"
    JSON = "json"
    ASYNC = "async"


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One part of an `Accept`: a type, a family of types, or all, and how much it is wanted (0 is not at all)."""

    type: str
    subtype: str
    quality: float

    def specificity(self, media_type: str) -> int | None:
        """Say how closely this range names a media type, 0 to 2; None when it does not."""
        if (self.type, self.subtype) == ("*", "*"):
            return 0
        kind, _, subtype = media_type.partition("/")
        if self.type != kind or self.subtype not in ("*", subtype):
            return None
        return 1 if self.subtype == "*" else 2


def preferred(accept: str | None, offers: Sequence[str]) -> str | None:
    """Choose among offers, ours first; None when the caller wants none of them.

    Between types that are wanted as much the one that was named more closely wins: `application/json, */*` asks
    for JSON.
    """
    if accept is None or not accept.strip():
        return offers[0]
    ranges = list(_ranges(accept))
    best: tuple[float, int] = (0.0, -1)
    chosen: str | None = None
    for offer in offers:
        specificity, quality = _best_match(ranges, offer)
        if quality > 0 and (quality, specificity) > best:
            best, chosen = (quality, specificity), offer
    return chosen


def _best_match(ranges: Iterable[MediaRange], offer: str) -> tuple[int, float]:
    matches = [
        (specificity, media_range.quality)
        for media_range in ranges
        if (specificity := media_range.specificity(offer)) is not None
    ]
    return max(matches, key=lambda match: match[0], default=(-1, 0.0))


def _ranges(accept: str) -> Iterable[MediaRange]:
    """Read the parts that are media ranges; what is not is passed over."""
    for part in accept.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        kind, slash, subtype = name.partition("/")
        quality = _quality(parameters)
        if slash and kind and subtype and quality is not None:
            yield MediaRange(kind, subtype, quality)


def _quality(parameters: Iterable[str]) -> float | None:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            return float(value) if _QUALITY.fullmatch(value.strip()) else None
    return 1.0


def prefers_async(prefer: Iterable[str]) -> bool:
    """Tell whether a `Prefer` header asks for an answer before the work is done."""
    preferences = (preference.partition(";")[0].strip().lower() for value in prefer for preference in value.split(","))
    return "respond-async" in preferences


def answer_form(accept: str | None, prefer: Iterable[str]) -> AnswerForm | None:
    """Choose the form of a turn's answer; None when `Accept` leaves none (H1)."""
    media_type = preferred(accept, (EVENT_STREAM, JSON))
    if media_type is None:
        return None
    if prefers_async(prefer):
        return AnswerForm.ASYNC
    return AnswerForm.STREAM if media_type == EVENT_STREAM else AnswerForm.JSON
