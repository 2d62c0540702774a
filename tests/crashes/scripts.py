"""What a scenario is, and what the models' scripts of scenarios share.

A script looks at the prompt only, so that a step which is asked for again gets the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.core.json_types import JsonObject
from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.strict_llama import Asked
from tests.crashes.conversation import Conversation
from tests.crashes.kill_points import KillPoint

ANSWERED = frozenset({"answered"})
CUT_SHORT = frozenset({"cancelled", "answered"})
IN_MID_ANSWER = KillPoint("model: piece", 8)

Script = Callable[[Asked, Conversation], Reply]

_NUMBER = re.compile(r'"number": (\d+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One conversation.

    `on_busy` has an entry for each message. The first turn comes to `held` and waits there; the others are sent
    then, or the first is cancelled, and then it may go on. `outcomes` are those allowed, by message. `filler` stands
    at the beginning of each message. With `compacts` the session is compacted by hand when its turns are over.
    """

    script: Script
    on_busy: tuple[str, ...] = ("queue",)
    held: KillPoint | None = None
    cancels: bool = False
    outcomes: tuple[frozenset[str], ...] = (ANSWERED,)
    filler: str = ""
    compacts: bool = False


def batches_in(asked: Asked) -> int:
    """Count the batches of calls behind the last message of the user."""
    count = 0
    for message in reversed(asked.messages):
        if message["role"] == "user":
            break
        count += "tool_calls" in message
    return count


def question_in(asked: Asked) -> str:
    """Give the last message of the user."""
    return next(message["content"] for message in reversed(asked.messages) if message["role"] == "user")


def answer(asked: Asked, _: Conversation) -> Reply:
    """Answer at once."""
    return say(f"So many messages: {len(asked.messages)}. That is all there is.", thought="Let me count.")


def in_turn(*batches: tuple[Call, ...]) -> Script:
    """Ask for these batches in the first turn, then answer."""

    def script(asked: Asked, conversation: Conversation) -> Reply:
        done = batches_in(asked)
        if question_in(asked) != conversation.first_message or done >= len(batches):
            return answer(asked, conversation)
        return next_batch(batches[done])

    return script


def next_batch(batch: tuple[Call, ...]) -> Reply:
    """Ask for one batch, with words and a thought before it."""
    return ask_for(*batch, text="I look it up.", thought="What is there?")


def call(name: str, number: int, arguments: str | None = None) -> Call:
    """A call that is known by its number."""
    return Call(name=name, arguments=arguments or f'{{"number": {number}}}', id=f"call-{number}")


def missing_in(asked: Asked, batches: Sequence[tuple[Call, ...]]) -> list[tuple[Call, ...]]:
    """Leave out the batches that a prompt shows, or that its summary tells of."""
    known = {f"call-{number}" for number in numbers_in(asked)}
    return [batch for batch in batches if not known.issuperset(made.id for made in batch)]


def summarise(asked: Asked, conversation: Conversation) -> Reply:
    """Summarise a part of a conversation: which calls it shows."""
    calls = ", ".join(f'{{"number": {number}}}' for number in numbers_in(asked))
    return say(f"This is about {conversation.mark}. Calls that were made: {calls}.")


def numbers_in(asked: Asked) -> list[int]:
    """Name the calls that a prompt shows, or that its summary tells of, each once."""
    texts = [text for message in asked.messages for text in _texts(message)]
    return sorted({int(number) for text in texts for number in _NUMBER.findall(text)})


def _texts(message: JsonObject) -> list[str]:
    return [message["content"], *(made["function"]["arguments"] for made in message.get("tool_calls", []))]
