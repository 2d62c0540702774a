"""Conversations that outgrow the context of the fake model server (C1)."""

from __future__ import annotations

from tests.cases.replies import Call, Reply
from tests.cases.strict_llama import Asked
from tests.crashes.conversation import Conversation
from tests.crashes.scripts import (
    ANSWERED,
    IN_MID_ANSWER,
    Scenario,
    Script,
    answer,
    call,
    missing_in,
    next_batch,
    question_in,
)
from tests.crashes.watched_fakes import LONG_FILLER


def _until_all_are_known(*batches: tuple[Call, ...]) -> Script:
    """Ask for these batches in the first turn, each until the prompt shows it or its summary tells of it."""

    def script(asked: Asked, conversation: Conversation) -> Reply:
        missing = missing_in(asked, batches)
        if not missing or not question_in(asked).endswith(conversation.first_message):
            return answer(asked, conversation)
        return next_batch(missing[0])

    return script


COMPACTIONS = {
    "room is made between steps": Scenario(
        script=_until_all_are_known(
            (call("read_long", 1), call("read_long", 2)),
            (call("read_long", 3), call("charge", 4), call("read_long", 5)),
            (call("look", 6), call("charge", 7)),
        )
    ),
    "room is made between turns": Scenario(
        script=_until_all_are_known((call("read_long", 1), call("read_long", 2))),
        on_busy=("queue", "queue"),
        held=IN_MID_ANSWER,
        filler=LONG_FILLER,
        outcomes=(ANSWERED,) * 2,
    ),
    "room is made by hand": Scenario(
        script=_until_all_are_known((call("look", 1), call("read_long", 2))),
        on_busy=("queue", "queue"),
        held=IN_MID_ANSWER,
        outcomes=(ANSWERED,) * 2,
        compacts=True,
    ),
}
