"""How far one reader is in the text of a session's step in flight, and what it is told next (H6, H7).

Above: the followers. Below: the text of the step, which is kept once for all readers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from service.codec import decode_record, decode_said
from service.core.ids import SessionId, TurnId
from service.core.records import Assistant, Attempt, TurnFinished
from service.core.signals import ContentDelta, Partial, ReasoningDelta, Signal
from service.ports import StoredRecord
from service.turns.events import Event, SignalEvent
from service.turns.step_text import StepText

_ENDS_TEXT = frozenset({Assistant.type, Attempt.type, TurnFinished.type})


@dataclass(slots=True)
class _Place:
    """Pieces taken of one attempt at a step, and code points."""

    turn: TurnId | None
    step: int
    attempt: int
    reasoning_pieces: int = 0
    reasoning_offset: int = 0
    content_pieces: int = 0
    content_offset: int = 0

    def move_to_end_of(self, step: StepText) -> None:
        """Have taken all that there is."""
        self.reasoning_pieces = len(step.reasoning.pieces)
        self.reasoning_offset = step.reasoning.length
        self.content_pieces = len(step.content.pieces)
        self.content_offset = step.content.length


class TextReader:
    """Tells the text of one step after another, each word once.

    `live` says that the reader has been there from the beginning of what comes: it is told every delta. Another one
    gets what there is of the step in flight as `partial`.
    """

    def __init__(self, session: SessionId, *, live: bool) -> None:
        self._session = session
        self._live = live
        self._at: _Place | None = None
        # The last record that ended a step's text: it may be read in the log before the text in flight is forgotten.
        self._last: StoredRecord | None = None
        self._over: tuple[TurnId | None, float, float] = None, 0, 0

    def rest_before(self, stored: StoredRecord) -> list[Event]:
        """Give what a record of an answer has of text that this reader was not told yet.

        A step may end before a slow reader has taken its last deltas; they are in the record, so nothing is lost.
        """
        if stored.type not in _ENDS_TEXT:
            return []
        self._last = stored
        # The next attempt says it all anew.
        at, self._at = self._at, None
        if not self._live or stored.type != Assistant.type:
            return []
        record = decode_said(stored.body)
        if at is None or (at.turn, at.step) != (stored.turn, record.step):
            at = _Place(turn=stored.turn, step=record.step, attempt=0)
        events: list[Event] = []
        if thought := record.reasoning[at.reasoning_offset :]:
            events.append(self._thought(at, thought))
        if said := record.content[at.content_offset :]:
            events.append(self._said(at, said))
        return events

    def next_of(self, step: StepText | None) -> list[Event]:
        """Give what is new of the step in flight; from now on this reader is live."""
        live, self._live = self._live, True
        if step is None or ((self._last is not None or step.turn == self._over[0]) and self._is_over(step)):
            return []
        at = self._at
        if at is None or at.step != step.step or at.attempt != step.attempt or at.turn != step.turn:
            at = self._at = _Place(turn=step.turn, step=step.step, attempt=step.attempt)
            if not live:
                at.move_to_end_of(step)
                so_far = Partial(step=step.step, reasoning=step.reasoning.text, content=step.content.text)
                return [self._event(step.turn, so_far)]
        events: list[Event] = []
        reasoning, content = step.reasoning, step.content
        if reasoning.length > at.reasoning_offset:
            events.append(self._thought(at, reasoning.since(at.reasoning_pieces)))
            at.reasoning_pieces, at.reasoning_offset = len(reasoning.pieces), reasoning.length
        if content.length > at.content_offset:
            # Written out, as it is done for each token.
            said = ContentDelta(step=at.step, text=content.since(at.content_pieces), offset=at.content_offset)
            events.append(SignalEvent(session=self._session, turn=at.turn, signal=said))
            at.content_pieces, at.content_offset = len(content.pieces), content.length
        return events

    def _is_over(self, step: StepText) -> bool:
        """Say whether the log, as far as this reader was told of it, holds how this attempt ended."""
        if self._last is not None:
            self._over = _over_by(self._last)
            self._last = None
        turn, first_step, first_attempt = self._over
        return step.turn == turn and (step.step, step.attempt) < (first_step, first_attempt)

    def _thought(self, at: _Place, text: str) -> Event:
        return self._event(at.turn, ReasoningDelta(step=at.step, text=text, offset=at.reasoning_offset))

    def _said(self, at: _Place, text: str) -> Event:
        return self._event(at.turn, ContentDelta(step=at.step, text=text, offset=at.content_offset))

    def _event(self, turn: TurnId | None, signal: Signal) -> Event:
        return SignalEvent(session=self._session, turn=turn, signal=signal)


def _over_by(stored: StoredRecord) -> tuple[TurnId | None, float, float]:
    """Give the turn of a record that ended a text, and the first step and attempt that it leaves to come."""
    match decode_record(stored.body).record:
        case Attempt(step=step, attempt=attempt):
            return stored.turn, step, attempt
        case Assistant(step=step):
            return stored.turn, step, inf
        case _:
            return stored.turn, inf, inf
