"""What happens in the conversations in which the service is killed."""

from __future__ import annotations

from collections.abc import Sequence

from tests.cases.replies import Reply, say
from tests.cases.strict_llama import Asked
from tests.crashes.conversation import Conversation
from tests.crashes.kill_points import KillPoint
from tests.crashes.plans import Plan
from tests.crashes.scenarios_of_approvals import APPROVALS
from tests.crashes.scenarios_of_compaction import COMPACTIONS
from tests.crashes.scenarios_of_handoffs import HANDOFFS
from tests.crashes.scenarios_of_readings import A_READING, READINGS
from tests.crashes.scripts import ANSWERED, CUT_SHORT, IN_MID_ANSWER, Scenario, answer, call, in_turn, question_in
from tests.crashes.stories import Stage, Story
from tests.crashes.stories_together import StoriesTogether
from tests.crashes.story_of_readings import StoryOfReading
from tests.crashes.story_of_turns import StoryOfTurns


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
            return answer(asked, conversation)


def _failing(asked: Asked, conversation: Conversation) -> Reply:
    if question_in(asked) == conversation.first_message:
        return say("This will never", finish=None, usage=False, done=False)
    return answer(asked, conversation)


TWO_TOOLS = "a tool that must not run twice, then one that may"
_ONE_OF_EACH = (call("charge", 1), call("look", 2))

PLAIN: dict[str, Scenario] = {
    "an answer": Scenario(script=answer),
    TWO_TOOLS: Scenario(script=in_turn((call("charge", 1),), (call("look", 2),))),
    "calls at the same time, good ones and bad ones": Scenario(
        script=in_turn(
            (
                *_ONE_OF_EACH,
                call("charge", 3),
                call("look", 4),
                call("look", 5, '{"number": 4}'),
                call("unknown", 6),
                call("look", 7, "no object"),
            )
        )
    ),
    "a result that is cut and read on in": Scenario(
        script=in_turn((call("read_long", 1),), (call("read_result", 2, '{"call": 1, "offset": 20000}'),))
    ),
    "three messages in a queue": Scenario(
        script=in_turn(_ONE_OF_EACH),
        on_busy=("queue", "queue", "queue"),
        held=IN_MID_ANSWER,
        outcomes=(ANSWERED,) * 3,
    ),
    "a queue, and one that takes the running turn's place": Scenario(
        script=answer,
        on_busy=("queue", "queue", "interrupt"),
        held=IN_MID_ANSWER,
        outcomes=(CUT_SHORT, CUT_SHORT, ANSWERED),
    ),
    "a message that interrupts a tool": Scenario(
        script=in_turn(_ONE_OF_EACH),
        on_busy=("queue", "interrupt"),
        held=KillPoint("port charge: asked", 1),
        outcomes=(CUT_SHORT, ANSWERED),
    ),
    "a turn that is cancelled in mid-answer": Scenario(
        script=answer, held=IN_MID_ANSWER, cancels=True, outcomes=(CUT_SHORT,)
    ),
    "a model that fails twice": Scenario(script=_failing_at_first),
    "a model that fails always": Scenario(script=_failing, outcomes=(frozenset({"failed"}),)),
}
"""Conversations with tools, a queue and failures, in which nobody is asked and nothing grows too long."""

BESIDE = "a reading beside a turn with tools"
TOGETHER = {BESIDE: (TWO_TOOLS, A_READING)}
"""Stories that are played at the same time."""

CONVERSATIONS: dict[str, Scenario] = {**PLAIN, **APPROVALS, **HANDOFFS, **COMPACTIONS}
SCENARIOS = (*CONVERSATIONS, *READINGS, *TOGETHER)
"""All of them, by name."""


def story_of(plan: Plan, stage: Stage) -> Story:
    """Give what a plan is played in."""
    names = TOGETHER.get(plan.scenario, (plan.scenario,))
    stories = [_story(name, plan.mark, stage) for name in names]
    return stories[0] if len(stories) == 1 else StoriesTogether(*stories)


def silent_places(scenario: str) -> Sequence[KillPoint]:
    """Name places of a scenario that neither its moments nor its log show."""
    names = TOGETHER.get(scenario, (scenario,))
    return [place for name in names if name in READINGS for place in READINGS[name].silent]


def _story(name: str, mark: str, stage: Stage) -> Story:
    if name in READINGS:
        return StoryOfReading(stage, mark, name, READINGS[name])
    return StoryOfTurns(stage, mark, CONVERSATIONS[name])
