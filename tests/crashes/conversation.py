"""What a client has done in one conversation and what it has seen, over all lives of the service."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from service.core.json_types import JsonObject

LAST_QUESTION = "And now?"
"""Asked when all is over: a session must not be dead then."""


@dataclass(slots=True)
class Message:
    """One message, with the key that it is sent with each time.

    `turn` is the path of its turn once an answer has named it; `frames` are the records that the turn's stream has
    shown, by `pos`; `cancelled` is the answer to a cancel.
    """

    content: str
    key: str
    on_busy: str
    turn: str | None = None
    frames: list[tuple[int, JsonObject]] = field(default_factory=list[tuple[int, JsonObject]])
    cancelled: JsonObject | None = None

    @property
    def body(self) -> JsonObject:
        return {"content": self.content, "on_busy": self.on_busy}

    @property
    def turn_id(self) -> str:
        return (self.turn or "").rpartition("/")[2]

    @property
    def is_over(self) -> bool:
        """Whether the end of its turn was seen."""
        return bool(self.frames) and self.frames[-1][1]["type"] == "turn_finished"


@dataclass(slots=True)
class Conversation:
    """A session of which only the mark is known in advance: it is the system prompt, and begins each message."""

    mark: str
    messages: list[Message]
    session: str | None = None
    kills: int = 0
    asked: Counter[str] = field(default_factory=Counter[str])
    """How often the model was asked, by question; for scripts that fail at first."""

    @property
    def session_id(self) -> str:
        return (self.session or "").rpartition("/")[2]

    @property
    def first_message(self) -> str:
        return self.messages[0].content


def begin_conversation(mark: str, on_busy: tuple[str, ...]) -> Conversation:
    """Begin a conversation of as many messages as there are ways to send them."""
    messages = [
        Message(content=f"{mark}: question {place}", key=f"{mark}-{place}", on_busy=way)
        for place, way in enumerate(on_busy, start=1)
    ]
    return Conversation(mark, messages)


def last_message(conversation: Conversation) -> Message:
    """Give the message that is sent when all is over."""
    return Message(f"{conversation.mark}: {LAST_QUESTION}", f"{conversation.mark}-last", "reject")
