"""What happens in a conversation in which the service is killed.

A model's script looks at the prompt only, so that a step which is asked for again gets the same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.strict_llama import Asked
from tests.crashes.conversation import Conversation
from tests.crashes.kill_points import KillPoint

ANSWERED = frozenset({"answered"})
Script = Callable[[Asked, Conversation], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One conversation.

    `on_busy` has an entry for each message. The first turn comes to `held` and waits there; the others are sent
    then, or the first is cancelled, and then it may go on. `outcomes` are those allowed, by message.
    """

    script: Script
    on_busy: tuple[str, ...] = ("queue",)
    held: KillPoint | None = None
    cancels: bool = False
    outcomes: tuple[frozenset[str], ...] = (ANSWERED,)


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


def _answer(asked: Asked, _: Conversation) -> Reply:
    return say(f"So many messages: {len(asked.messages)}. That is all there is.", thought="Let me count.")


def _in_turn(*batches: tuple[Call, ...]) -> Script:
    def script(asked: Asked, conversation: Conversation) -> Reply:
        done = batches_in(asked)
        if question_in(asked) != conversation.first_message or done >= len(batches):
            return _answer(asked, conversation)
        return ask_for(*batches[done], text="I look it up.", thought="What is there?")

    return script


def _call(name: str, number: int, arguments: str | None = None) -> Call:
    return Call(name=name, arguments=arguments or f'{{"number": {number}}}', id=f"call-{number}")


def _failing_at_first(asked: Asked, conversation: Conversation) -> Reply:
    """Break off, then say nothing, then answer."""
    question = question_in(asked)
    conversation.asked[question] += 1
    match conversation.asked[question]:
        case 1:
            return say("This will not", finish=None, usage=False, done=False)
        case 2:
            return say("", thought="Nothing comes to my mind.")
        case _:
            return _answer(asked, conversation)


def _failing(asked: Asked, conversation: Conversation) -> Reply:
    if question_in(asked) == conversation.first_message:
        return say("This will never", finish=None, usage=False, done=False)
    return _answer(asked, conversation)


_CUT_SHORT = frozenset({"cancelled", "answered"})
_IN_MID_ANSWER = KillPoint("model: piece", 8)
_ONE_OF_EACH = (_call("charge", 1), _call("look", 2))

SCENARIOS = {
    "an answer": Scenario(script=_answer),
    "a tool that must not run twice, then one that may": Scenario(
        script=_in_turn((_call("charge", 1),), (_call("look", 2),))
    ),
    "calls at the same time, good ones and bad ones": Scenario(
        script=_in_turn(
            (
                *_ONE_OF_EACH,
                _call("charge", 3),
                _call("look", 4),
                _call("look", 5, '{"number": 4}'),
                _call("unknown", 6),
                _call("look", 7, "no object"),
            )
        )
    ),
    "a result that is cut and read on in": Scenario(
        script=_in_turn((_call("read_long", 1),), (_call("read_result", 2, '{"call": 1, "offset": 20000}'),))
    ),
    "three messages in a queue": Scenario(
        script=_in_turn(_ONE_OF_EACH),
        on_busy=("queue", "queue", "queue"),
        held=_IN_MID_ANSWER,
        outcomes=(ANSWERED,) * 3,
    ),
    "a queue, and one that takes the running turn's place": Scenario(
        script=_answer,
        on_busy=("queue", "queue", "interrupt"),
        held=_IN_MID_ANSWER,
        outcomes=(_CUT_SHORT, _CUT_SHORT, ANSWERED),
    ),
    "a message that interrupts a tool": Scenario(
        script=_in_turn(_ONE_OF_EACH),
        on_busy=("queue", "interrupt"),
        held=KillPoint("port charge: asked", 1),
        outcomes=(_CUT_SHORT, ANSWERED),
    ),
    "a turn that is cancelled in mid-answer": Scenario(
        script=_answer, held=_IN_MID_ANSWER, cancels=True, outcomes=(_CUT_SHORT,)
    ),
    "a model that fails twice": Scenario(script=_failing_at_first),
    "a model that fails always": Scenario(script=_failing, outcomes=(frozenset({"failed"}),)),
}
