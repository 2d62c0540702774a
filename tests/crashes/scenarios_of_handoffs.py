"""Conversations in which another agent answers, is interrupted, asks people, or hands over itself (G2)."""

from __future__ import annotations

import json

from tests.cases.replies import Call, Reply
from tests.cases.strict_llama import Asked
from tests.crashes.conversation import Conversation
from tests.crashes.kill_points import KillPoint
from tests.crashes.scripts import (
    CUT_SHORT,
    Scenario,
    Script,
    answer,
    batches_in,
    call,
    missing_in,
    next_batch,
    question_in,
)
from tests.crashes.watched_fakes import is_expert

_FURTHER = "Ask somebody who knows more"


def _handing_over(*below: tuple[Call, ...], times: int = 1, further: bool = False) -> Script:
    """Hand over so many times; whoever it is handed to asks for these batches, and may first hand over `further`."""

    def script(asked: Asked, conversation: Conversation) -> Reply:
        handed_over = batches_in(asked)
        if is_expert(asked):
            batches = missing_in(asked, below)
            if further and not handed_over and _FURTHER not in question_in(asked):
                batches = [(_hand_over(conversation, f"{_FURTHER}."),)]
        elif question_in(asked) == conversation.first_message:
            batches = [(_hand_over(conversation, f"Part {place}."),) for place in range(handed_over, times)]
        else:
            batches = []
        return next_batch(batches[0]) if batches else answer(asked, conversation)

    return script


def _hand_over(conversation: Conversation, message: str) -> Call:
    arguments = {"agent": "expert", "message": f"{conversation.mark}: {message}", "carry": 2}
    return Call(name="handoff_to", arguments=json.dumps(arguments), id="call-9")


HANDOFFS = {
    "another agent answers": Scenario(script=_handing_over((call("charge", 1), call("look", 2)))),
    "another agent answers twice": Scenario(script=_handing_over((call("look", 1),), times=2)),
    "another agent asks people": Scenario(script=_handing_over((call("pay", 1), call("look", 2)), (call("order", 3),))),
    "another agent hands over itself": Scenario(script=_handing_over((call("renew", 1),), further=True)),
    "another agent makes room": Scenario(
        script=_handing_over(
            (call("read_long", 1), call("read_long", 2)),
            (call("read_long", 3), call("read_long", 4)),
            (call("look", 5),),
        ),
    ),
    "a turn that is cancelled while another agent answers": Scenario(
        script=_handing_over((call("charge", 1),)),
        held=KillPoint("expert: piece", 6),
        cancels=True,
        outcomes=(CUT_SHORT,),
    ),
}
