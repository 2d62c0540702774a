"""What a template makes of the conversations: what raises, what is lost, what is evaluated again (P8).

A conversation fails when a sending point of it is not rendered, when the system prompt is not in the text, or when
the users' messages, the results and the assistant's last words do not stand there one behind the other. A prompt is
rewritten when it does not begin with the whole prompt before it, though the profile says that it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from service.core.baseline import TemplateProfile
from service.core.json_types import JsonObject
from tests.zoo.conversation import Conversation, SendingPoint
from tests.zoo.conversations import SYSTEMS, TOOLS
from tests.zoo.rendering import Renderer
from tests.zoo.shown import shown


class Kind(StrEnum):
    """What goes wrong; `REOPENS` is no fault but a few tokens.

    Many templates open a thought for the model, and drop the opening where it did not think.
    """

    RAISES = "raises"
    LOSES_SYSTEM = "loses the system prompt"
    LOSES = "loses a text"
    REWRITES_STEP = "rewrites a step"
    REWRITES_TURN = "rewrites a turn"
    REOPENS = "drops the opening of a thought"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found in one conversation; `again` is how many characters of a prompt changed."""

    conversation: str
    kind: Kind
    detail: str = ""
    again: int = 0


Writer = Callable[[Conversation], None]


def write(writer: Writer, profile: TemplateProfile | None) -> Conversation:
    """Have a conversation under a template."""
    system = SYSTEMS.get(writer)
    talk = Conversation(profile) if system is None else Conversation(profile, system)
    writer(talk)
    return talk


def judge(renderer: Renderer, profile: TemplateProfile, writers: Sequence[Writer], *, tools: bool) -> Iterator[Finding]:
    """Render conversations at each of their sending points and tell what is found, one of a kind for each."""
    for writer in writers:
        found = {finding.kind: finding for finding in _Reading(renderer, profile, writer, tools).findings()}
        yield from found.values()


def changed(before: str, after: str) -> int:
    """Count the characters at the end of a prompt that the next one does not begin with."""
    if after.startswith(before):
        return 0
    pairs = enumerate(zip(before, after, strict=False))
    return len(before) - next((place for place, (old, new) in pairs if old != new), len(after))


class _Reading:
    def __init__(self, renderer: Renderer, profile: TemplateProfile, writer: Writer, tools: bool) -> None:
        self._renderer, self._profile, self._tools = renderer, profile, tools
        self._name, self._talk = writer.__name__, write(writer, profile)

    def findings(self) -> Iterator[Finding]:
        before: tuple[SendingPoint, str] | None = None
        for point in self._talk.sent:
            text, words = self._renderer.attempt(self._body(point))
            if text is None:
                yield self._finding(Kind.RAISES, words)
                return
            yield from self._losses(point, text)
            if before is not None:
                yield from self._changes(*before, point, text)
            before = point, text

    def _losses(self, point: SendingPoint, text: str) -> Iterator[Finding]:
        if not shown(text, [self._talk.system]):
            yield self._finding(Kind.LOSES_SYSTEM)
        if not shown(text, point.marks):
            lost = [mark for mark in point.marks if not shown(text, [mark])]
            yield self._finding(Kind.LOSES, lost[0] if lost else "their order")

    def _changes(self, earlier: SendingPoint, before: str, point: SendingPoint, text: str) -> Iterator[Finding]:
        same_turn = earlier.turn == point.turn
        keeps = self._profile.keeps_steps if same_turn else self._profile.keeps_turns
        again = changed(before, text)
        if not again or not keeps:
            return
        if self._is_opening(earlier, before, point, again):
            yield self._finding(Kind.REOPENS, again=again)
        else:
            yield self._finding(Kind.REWRITES_STEP if same_turn else Kind.REWRITES_TURN, again=again)

    def _is_opening(self, earlier: SendingPoint, before: str, point: SendingPoint, again: int) -> bool:
        """Tell whether only what begins the model's turn was dropped, and the model did not think there."""
        following = point.messages[len(earlier.messages)]
        bare, _ = self._renderer.attempt({**self._body(earlier), "add_generation_prompt": False})
        return "reasoning_content" not in following and bare is not None and again <= changed(before, bare)

    def _body(self, point: SendingPoint) -> JsonObject:
        return {"messages": list(point.messages), **({"tools": TOOLS} if self._tools else {})}

    def _finding(self, kind: Kind, detail: str = "", again: int = 0) -> Finding:
        return Finding(conversation=self._name, kind=kind, detail=detail, again=again)
