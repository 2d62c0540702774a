"""Thought that llama-server left in the content, told from the answer by its tags (L5).

Above: `completion`. Below: `completion_events`, `text_pieces`.

    LEADING   nothing of the answer has come yet: white space is held back, tags are obeyed
    THOUGHT   inside `<think>`: reasoning up to `</think>`, then LEADING again
    HELD      the thinking budget was reached: the answer's beginning is held back, since a budget that cuts a
              thought may leave its rest and its `</think>` in the content
    ANSWER    the rest, tags included, is text
"""

from __future__ import annotations

from enum import Enum, auto

from service.core.completion_events import ContentText, ReasoningText
from service.core.text_pieces import TextPieces

OPENING = "<think>"
CLOSING = "</think>"

HELD_CHARACTERS = 400
"""How much of the answer may stand before a stray `</think>` in a step whose budget was reached (L5)."""


class _State(Enum):
    LEADING = auto()
    THOUGHT = auto()
    HELD = auto()
    ANSWER = auto()


class ThinkTags:
    """Sort the pieces of content into thought and answer, however they are cut.

    White space around a tag outside the thought belongs to the tag, and goes with it.
    """

    def __init__(self) -> None:
        self._state = _State.LEADING
        self._pending = ""
        self._white_space = TextPieces()
        self._behind_tag = False
        self._may_hold = False
        self._has_held = False
        # From where on all content is the answer, and need not be fed any more.
        self.passes_all = False

    def expect_stray_closing(self) -> None:
        """Hold the answer's beginning back, when none of it has come: the thinking budget was reached.

        A budget cuts one thought: behind the tag for which text was held, nothing is held again.
        """
        self._may_hold = not self._has_held

    def feed(self, text: str) -> list[ReasoningText | ContentText]:
        """Take a piece of content and give what is certain by now."""
        self._pending += text
        given: list[ReasoningText | ContentText] = []
        while self._advance(given):
            pass
        self.passes_all = self._state is _State.ANSWER
        return given

    def release(self) -> list[ReasoningText | ContentText]:
        """Give what was held back: no more will come."""
        rest = self._white_space.take() + self._pending
        self._pending = ""
        if not rest:
            return []
        return [ReasoningText(text=rest) if self._state is _State.THOUGHT else ContentText(text=rest)]

    def _advance(self, given: list[ReasoningText | ContentText]) -> bool:
        """Do one step; True when the state has changed and there may be more to do."""
        if self._state is _State.LEADING:
            return self._lead()
        if self._state is _State.THOUGHT:
            return self._think(given)
        if self._state is _State.HELD:
            return self._hold(given)
        if self._pending:
            given.append(ContentText(text=self._pending))
            self._pending = ""
        return False

    def _lead(self) -> bool:
        text = self._pending.lstrip()
        space = self._pending[: len(self._pending) - len(text)]
        if space and not self._behind_tag:
            self._white_space.add(space)
        self._pending = text
        if text.startswith(OPENING):
            return self._pass_tag(OPENING, _State.THOUGHT)
        if text.startswith(CLOSING):
            return self._pass_tag(CLOSING, _State.LEADING)
        if OPENING.startswith(text) or CLOSING.startswith(text):
            return False
        self._pending = self._white_space.take() + text
        self._state = _State.HELD if self._may_hold else _State.ANSWER
        return True

    def _pass_tag(self, tag: str, state: _State) -> bool:
        self._pending = self._pending[len(tag) :]
        self._white_space.take()
        self._behind_tag = True
        self._state = state
        return True

    def _think(self, given: list[ReasoningText | ContentText]) -> bool:
        thought, closing, rest = self._pending.partition(CLOSING)
        if not closing:
            certain = len(thought) - _beginning_at_end(thought, CLOSING)
            thought, rest = thought[:certain], thought[certain:]
        if thought:
            given.append(ReasoningText(text=thought))
        self._pending = rest
        if closing:
            self._state = _State.LEADING
        return bool(closing)

    def _hold(self, given: list[ReasoningText | ContentText]) -> bool:
        at = self._pending.find(CLOSING, 0, HELD_CHARACTERS + len(CLOSING))
        if at >= 0:
            given.append(ReasoningText(text=self._pending[:at]))
            self._pending = self._pending[at:]
            self._may_hold, self._has_held = False, True
            self._state = _State.LEADING
            return True
        begun = _beginning_at_end(self._pending, CLOSING)
        if len(self._pending) - begun <= HELD_CHARACTERS:
            return False
        self._state = _State.ANSWER
        return True


def _beginning_at_end(text: str, tag: str) -> int:
    """Count the characters at the end of a text that may be the beginning of a tag."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:length]):
            return length
    return 0
