"""A handoff runs a child session, and its answer comes back as the call's result (G2, G1, X6)."""

from __future__ import annotations

import asyncio
import json

import pytest

from service.core.agents import AgentProfile, AgentProfiles
from service.core.baseline import Limits
from service.core.completion_events import FinishReason
from service.core.errors import ErrorKind, ModelFailure, RequestRefused
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.labels import DataClass
from service.core.records import (
    ChildLink,
    HandoffReturned,
    HandoffStarted,
    Limit,
    OnToolLimit,
    Outcome,
    ParentLink,
    ResultStatus,
    SessionCreated,
    ToolResult,
    User,
)
from service.turns.requests import ToolsAsked
from tests.fakes.clock import CountingIds
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, result, spec
from tests.turns.handing_over import AGENTS, child_session, children_of, hand_over
from tests.turns.turn_facts import results_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("G2")]


async def test_the_child_answers_and_the_parent_goes_on_with_its_answer() -> None:
    llama = ScriptedLlama(ask_for(hand_over()), say("Green tea."), say("The expert says green tea."))
    house = House(llama, agents=AGENTS)
    session = await house.session()

    view = await house.run(session, "What shall I drink?")

    child = await child_session(house, session)
    made = await house.sessions.view(child, LOCAL_OWNER)
    records = await house.records(session)
    (shown,) = await results_of(house, session)
    returned = next(record for record in records if isinstance(record, HandoffReturned))
    assert (view.outcome, view.content) == (Outcome.ANSWERED, "The expert says green tea.")
    assert (shown.status, shown.content) == (ResultStatus.OK, "Green tea.")
    assert (made.agent, made.parent) == ("expert", ParentLink(session=session, turn=view.id, call=1))
    assert records[records.index(returned) + 1] == shown
    assert (returned.outcome, returned.content) == (Outcome.ANSWERED, "Green tea.")
    assert llama.requests[1].messages[0]["content"].startswith("You are the expert.")
    assert llama.requests[1].messages[1] == {"role": "user", "content": "Which tea?"}
    assert llama.requests[2].messages[-1]["content"] == "Green tea."


async def test_the_last_messages_go_along_when_they_are_asked_for() -> None:
    port = TablePort(spec("look"), tools={"look": lambda request: result("shut", untrusted=True)})
    llama = ScriptedLlama(
        ask_for(call("look", '{"city": "Rome"}')), ask_for(hand_over(carry=3)), say("Closed."), say("It is closed.")
    )
    house = House(llama, port, agents=AGENTS, ids=CountingIds(["f" * 16, "e" * 16]))
    session = await house.session()

    await house.run(session, "Is it open?")

    assert llama.requests[2].messages[1]["content"] == (
        "Which tea?\n\nFor context, the last messages of the conversation so far:\n\nThe user:\nIs it open?\n\n"
        'The assistant:\n[called look({"city": "Rome"})]\n\n'
        "A tool (look):\n<untrusted ffffffffffffffff>\nshut\n</untrusted ffffffffffffffff>"
    )


@pytest.mark.parametrize("carry", [11, -1, "many"])
async def test_more_messages_than_may_go_along_are_bad_arguments(carry: object) -> None:
    house = House(ScriptedLlama(ask_for(hand_over(carry=carry)), say("Well.")), agents=AGENTS)
    session = await house.session()

    view = await house.run(session)

    assert [shown.status for shown in await results_of(house, session)] == [ResultStatus.BAD_ARGUMENTS]
    assert (view.content, await children_of(house, session)) == ("Well.", [])


async def test_an_unknown_agent_is_an_error_and_the_rest_of_the_batch_runs() -> None:
    port = TablePort(spec("look"))
    house = House(ScriptedLlama(ask_for(hand_over("nobody"), call("look", id="l")), say("Well.")), port, agents=AGENTS)
    session = await house.session()

    view = await house.run(session)

    wrong, ran = await results_of(house, session)
    assert (wrong.status, ran.status, view.outcome) == (ResultStatus.BAD_ARGUMENTS, ResultStatus.OK, Outcome.ANSWERED)
    assert "expert" in wrong.content


async def test_of_two_handoffs_the_first_counts_and_nothing_else_of_the_batch_runs() -> None:
    port = TablePort(spec("look"), spec("pay", needs_approval=True))
    batch = ask_for(call("look", id="l"), hand_over(), hand_over("desk", id="i"), call("pay", id="p"))
    house = House(ScriptedLlama(batch, say("Green tea."), say("Done.")), port, agents=AGENTS)
    session = await house.session()

    view = await house.run(session)

    text = "The call was not run: this step was handed over to expert."
    assert [(shown.status, shown.content) for shown in await results_of(house, session)] == [
        (ResultStatus.NOT_RUN, text),
        (ResultStatus.OK, "Green tea."),
        (ResultStatus.NOT_RUN, text),
        (ResultStatus.NOT_RUN, text),
    ]
    assert (port.calls, len(await children_of(house, session)), view.content) == ([], 1, "Done.")


async def test_sessions_hand_over_at_most_three_deep() -> None:
    down = [ask_for(hand_over("desk", f"Deeper {level}")) for level in range(4)]
    up = [say(f"Up {level}.") for level in range(4)]
    house = House(ScriptedLlama(*down, *up), agents=AGENTS)
    session = await house.session()

    view = await house.run(session)

    depths: list[int] = []
    deepest = session
    here: SessionId | None = session
    while here is not None:
        created = (await house.records(here))[0]
        assert isinstance(created, SessionCreated)
        depths.append(created.depth)
        deepest = here
        children = await children_of(house, here)
        here = children[0].session if children else None
    assert (depths, view.content) == ([0, 1, 2, 3], "Up 3.")
    (refused,) = await results_of(house, deepest)
    assert (refused.status, refused.content) == (
        ResultStatus.FAILED,
        "The handoff was not made: agents hand over to one another at most 3 times in a row.",
    )


@pytest.mark.parametrize(
    ("ends", "outcome", "why"),
    [
        (
            [Play(at_once=ModelFailure(ErrorKind.PROTOCOL, "no stream"))],
            Outcome.FAILED,
            "it failed (protocol): no stream",
        ),
        ([Play(finish_reason=FinishReason.LENGTH)], Outcome.TURN_LIMIT, "it reached a limit (max_tokens)"),
    ],
)
async def test_a_child_without_an_answer_is_a_failed_call(ends: list[Play], outcome: Outcome, why: str) -> None:
    house = House(ScriptedLlama(ask_for(hand_over()), *ends, say("Sorry.")), agents=AGENTS)
    session = await house.session()

    view = await house.run(session)

    (shown,) = await results_of(house, session)
    returned = next(record for record in await house.records(session) if isinstance(record, HandoffReturned))
    assert (returned.outcome, returned.content) == (outcome, None)
    assert (shown.status, shown.content) == (
        ResultStatus.FAILED,
        f"The agent ended without an answer: {why}.",
    )
    assert (view.outcome, view.content) == (Outcome.ANSWERED, "Sorry.")


async def test_a_child_that_hits_a_limit_of_its_own_profile_is_a_failed_call() -> None:
    agents = AgentProfiles(
        profiles={"expert": AgentProfile(name="expert", limits={"tool_iterations": 1})}, default="expert"
    )
    port = TablePort(spec("look"))
    busy = [ask_for(call("look", f'{{"city": "{city}"}}')) for city in ("a", "b")]
    house = House(ScriptedLlama(ask_for(hand_over()), *busy, say("Sorry.")), port, agents=agents)
    session = await house.session()

    view = await house.run(session)

    (shown,) = await results_of(house, session)
    assert shown.content == "The agent ended without an answer: it reached a limit (tool_iterations)."
    assert view.content == "Sorry."


async def test_a_child_concludes_where_its_parents_turn_does() -> None:
    house = House(ScriptedLlama(ask_for(hand_over()), say("Tea."), say("Done.")), agents=AGENTS)
    session = await house.session()

    await house.run(session, on_tool_limit=OnToolLimit.CONCLUDE)

    user = (await house.records(await child_session(house, session)))[1]
    assert isinstance(user, User)
    assert user.options.on_tool_limit is OnToolLimit.CONCLUDE


async def while_the_child_streams(after: Play) -> tuple[House, SessionId, TurnId, ChildLink]:
    """A session with its turn, and the child whose answer is just streaming; `after` is what the parent says then."""
    asked = say("Green", before_end=asyncio.Event())
    house = House(ScriptedLlama(ask_for(hand_over()), asked, after), agents=AGENTS)
    session = await house.session()
    turn = await house.start(session)
    await asked.streaming.wait()
    (child,) = await children_of(house, session)
    return house, session, turn, child


async def test_a_child_that_is_cancelled_is_a_failed_call() -> None:
    house, session, turn, child = await while_the_child_streams(say("Sorry."))

    await house.sessions.cancel(child.session, child.turn, LOCAL_OWNER)
    view = await house.finish(session, turn)

    (shown,) = await results_of(house, session)
    assert shown.content == "The agent ended without an answer: it was cancelled."
    assert view.content == "Sorry."


@pytest.mark.rules("H9")
async def test_a_child_that_is_deleted_is_a_failed_call() -> None:
    house, session, turn, child = await while_the_child_streams(say("Sorry."))

    await house.sessions.delete(child.session, LOCAL_OWNER)
    view = await house.finish(session, turn)

    (shown,) = await results_of(house, session)
    assert shown.status is ResultStatus.FAILED
    assert (view.outcome, view.content) == (Outcome.ANSWERED, "Sorry.")


@pytest.mark.rules("T13")
async def test_a_cancel_goes_down_and_the_child_ends_before_its_parent() -> None:
    house, session, turn, child = await while_the_child_streams(say("Hello."))

    view, _ = await house.sessions.cancel(session, turn, LOCAL_OWNER)
    below = await house.sessions.turn(child.session, child.turn, LOCAL_OWNER)
    after = await house.run(session, "Hello")

    entries = await house.log.read_all(LOCAL_OWNER, after_pos=0, limit=100)
    ends = [stored.session for stored in entries if stored.type == "turn_finished"]
    (shown,) = await results_of(house, session)
    assert (view.outcome, below.outcome, below.content) == (Outcome.CANCELLED, Outcome.CANCELLED, "Green")
    assert ends == [child.session, session, session]
    assert shown.status is ResultStatus.CANCELLED
    assert after.content == "Hello."


@pytest.mark.rules("T7", "T5")
async def test_the_same_handoff_again_is_a_repeat_and_counts_as_a_batch() -> None:
    house = House(
        ScriptedLlama(ask_for(hand_over()), say("Green."), ask_for(hand_over()), ask_for(hand_over("desk", "Other"))),
        agents=AGENTS,
        limits=Limits(tool_iterations=2),
    )
    session = await house.session()

    view = await house.run(session)

    assert [shown.status for shown in await results_of(house, session)] == [
        ResultStatus.OK,
        ResultStatus.REPEATED,
        ResultStatus.NOT_RUN,
    ]
    assert (view.outcome, view.limit) == (Outcome.TURN_LIMIT, Limit.TOOL_ITERATIONS)
    assert len(await children_of(house, session)) == 1


@pytest.mark.rules("X6")
async def test_a_child_starts_with_its_parents_labels_and_its_answer_carries_its_own() -> None:
    port = TablePort(
        spec("read", untrusted=True),
        spec("customers", **{"class": "secret"}),
        tools={"read": lambda request: result("x")},
    )
    llama = ScriptedLlama(ask_for(call("read", id="r")), ask_for(hand_over()), say("Tea."), say("Done."))
    house = House(llama, port, agents=AGENTS, ids=CountingIds(["f" * 16, "e" * 16]))
    session = await house.session()

    await house.run(session)

    created = (await house.records(await child_session(house, session)))[0]
    assert isinstance(created, SessionCreated)
    assert created.untrusted
    answer = (await results_of(house, session))[-1]
    assert (answer.untrusted, answer.fence) == (True, "e" * 16)
    assert llama.requests[3].messages[-1]["content"] == f"<untrusted {'e' * 16}>\nTea.\n</untrusted {'e' * 16}>"


@pytest.mark.rules("X6")
async def test_what_a_child_reads_labels_its_answer_and_so_its_parents_session() -> None:
    port = TablePort(spec("customers", **{"class": "secret"}))
    house = House(
        ScriptedLlama(ask_for(hand_over()), ask_for(call("customers")), say("Ann."), say("It is Ann.")),
        port,
        agents=AGENTS,
        approve_after_untrusted=False,
    )
    session = await house.session()

    await house.run(session)

    (answer,) = await results_of(house, session)
    assert (answer.data_class, answer.untrusted) == (DataClass.SECRET, False)


@pytest.mark.rules("G1")
async def test_sessions_have_handoff_to_only_when_there_are_agents() -> None:
    with_agents = House(ScriptedLlama(say("Hi.")), agents=AGENTS)
    without = House(ScriptedLlama(say("Hi.")))
    await with_agents.run(await with_agents.session())
    await without.run(await without.session())

    shown = [tool["function"] for tool in with_agents.llama.requests[0].tools]
    assert [tool["name"] for tool in shown] == ["read_result", "handoff_to"]
    assert "expert: Knows all about tea." in shown[1]["description"]
    assert shown[1]["parameters"]["properties"]["agent"]["enum"] == ["desk", "expert"]
    assert without.llama.requests[0].tools == ()


@pytest.mark.rules("G1", "X3")
@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (None, ["look", "read_result", "handoff_to"]),
        (("look",), ["look", "read_result", "handoff_to"]),
        (("handoff_to",), ["read_result", "handoff_to"]),
        ((), []),
    ],
)
async def test_a_session_may_have_handoff_to_alone_or_no_tool_at_all(
    names: tuple[str, ...] | None, shown: list[str]
) -> None:
    house = House(ScriptedLlama(say("Hi.")), TablePort(spec("look")), agents=AGENTS)

    await house.run(await house.session(tools=ToolsAsked(names=names)))

    assert [tool["function"]["name"] for tool in house.llama.requests[0].tools] == shown


async def test_without_agents_nobody_can_name_handoff_to() -> None:
    house = House(ScriptedLlama(), TablePort(spec("look")))

    with pytest.raises(RequestRefused):
        await house.session(tools=ToolsAsked(names=("handoff_to",)))


async def test_an_agent_that_is_gone_by_now_is_a_failed_call() -> None:
    house = House(ScriptedLlama(say("Hi.")), agents=AGENTS)
    session = await house.session()
    await house.run(session)
    fewer = AgentProfiles(profiles={"desk": AGENTS.profiles["desk"]}, default="desk")
    later = House(ScriptedLlama(ask_for(hand_over()), say("Nobody is there.")), log=house.log, agents=fewer)

    view = await later.run(session, "Tea?")

    (shown,) = await results_of(later, session)
    assert shown.status is ResultStatus.FAILED
    assert shown.content.startswith("The agent ended without an answer: There is no agent 'expert'.")
    assert view.content == "Nobody is there."
    assert [type(record) for record in await later.records(session) if not isinstance(record, ToolResult)].count(
        HandoffStarted
    ) == 1


async def test_the_prompt_of_the_parent_only_grows_over_a_handoff() -> None:
    llama = ScriptedLlama(ask_for(hand_over()), say("Green."), say("Done."), say("Bye."))
    house = House(llama, agents=AGENTS)
    session = await house.session()
    await house.run(session)
    await house.run(session, "Bye")

    first, _, third, fourth = (json.dumps(list(request.messages))[:-1] for request in llama.requests)
    assert third.startswith(first)
    assert fourth.startswith(third)
