"""The text of the step in flight: kept once for all followers, and read by each from where it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from service.core.completion_events import (
    Begun,
    CompletionDelta,
    ContentText,
    PromptProgress,
    ReasoningText,
    StillWaiting,
)
from service.core.ids import TurnId
from service.core.turn_records import PartialAnswer


@dataclass(slots=True)
class TextPart:
    """One part of a step's text, in the pieces in which it came; `length` counts code points."""

    pieces: list[str] = field(default_factory=list[str])
    length: int = 0

    def add(self, text: str) -> None:
        """Append a piece."""
        self.pieces.append(text)
        self.length += len(text)

    def since(self, pieces: int) -> str:
        """Give what came behind so many pieces."""
        new = self.pieces[pieces:]
        return new[0] if len(new) == 1 else "".join(new)

    @property
    def text(self) -> str:
        """Everything so far."""
        return "".join(self.pieces)


@dataclass(slots=True)
class StepText:
    """What has come of one attempt at a step."""

    turn: TurnId
    step: int
    attempt: int
    reasoning: TextPart = field(default_factory=TextPart)
    content: TextPart = field(default_factory=TextPart)
    prompt_tokens: int = 0
    cached_tokens: int = 0
    begun: bool = False
    completion_id: str | None = None

    def take(self, delta: CompletionDelta) -> None:
        """Take what the stream gave."""
        match delta:
            case ContentText(text=text):
                self.begun = True
                self.content.add(text)
            case ReasoningText(text=text):
                self.begun = True
                self.reasoning.add(text)
            case PromptProgress(total=total, cached=cached):
                self.begun = True
                self.prompt_tokens, self.cached_tokens = total, cached
            case Begun(completion_id=completion_id):
                self.begun = True
                self.completion_id = completion_id
            case StillWaiting():  # pragma: no branch - the type checker sees that no kind is left
                pass

    @property
    def reasoning_tokens(self) -> int:
        """How long the thought is; a piece counts as a token."""
        return len(self.reasoning.pieces)

    @property
    def shown(self) -> bool:
        """Whether followers may have seen some of the text."""
        return bool(self.reasoning.pieces or self.content.pieces)

    def left_behind(self) -> PartialAnswer:
        """Give what is to be kept when the completion is left before its end; a piece counts as a token."""
        thought, said = len(self.reasoning.pieces), len(self.content.pieces)
        return PartialAnswer(
            reasoning=self.reasoning.text,
            content=self.content.text,
            prompt_tokens=self.prompt_tokens,
            cached_tokens=self.cached_tokens,
            completion_tokens=thought + said,
            reasoning_tokens=thought,
        )
