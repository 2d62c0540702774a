"""What a client has done in one conversation and what it has seen, over all lives of the service."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from service.core.json_types import JsonObject
from tests.crashes import watched_fakes

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision on a call, as it is sent; `session` is the one whose call it is, `turn` the path it is sent to."""

    session: str
    turn: str
    body: JsonObject

    @property
    def key(self) -> str:
        return f"{self.session}-{self.body['call']}"


def decision_on(pending: JsonObject, turn: str) -> Decision:
    """Decide as the note in a call's arguments says."""
    body: JsonObject = {"call": pending["call"], "digest": pending["digest"], "approved": True}
    arguments: JsonObject = json.loads(pending["arguments"])
    match arguments.get("note"):
        case watched_fakes.DENIED:
            body |= {"approved": False, "reason": "It is too much."}
        case watched_fakes.CHANGED:
            body |= {"arguments": json.dumps({**arguments, "note": "changed"})}
        case _:
            body |= {"reason": "Go on."}
    return Decision(session=pending["session"], turn=turn, body=body)


@dataclass(slots=True)
class Conversation:
    """A session of which only the mark is known in advance: it is the system prompt, and begins each message."""

    mark: str
    messages: list[Message]
    session: str | None = None
    kills: int = 0
    asked: Counter[str] = field(default_factory=Counter[str])
    """How often the model was asked, by question; for scripts that fail at first."""
    decisions: dict[tuple[str, int], Decision] = field(default_factory=dict[tuple[str, int], Decision])
    """What was decided, by session and call; also what was sent and never answered."""

    @property
    def session_id(self) -> str:
        return (self.session or "").rpartition("/")[2]

    @property
    def first_message(self) -> str:
        return self.messages[0].content


def begin_conversation(mark: str, on_busy: tuple[str, ...], filler: str = "") -> Conversation:
    """Begin a conversation of as many messages as there are ways to send them; each begins with the filler."""
    messages = [
        Message(content=f"{filler}{mark}: question {place}", key=f"{mark}-{place}", on_busy=way)
        for place, way in enumerate(on_busy, start=1)
    ]
    return Conversation(mark, messages)


def last_message(conversation: Conversation) -> Message:
    """Give the message that is sent when all is over."""
    return Message(f"{conversation.mark}: {LAST_QUESTION}", f"{conversation.mark}-last", "reject")
