"""What tests of handoffs share: two agents, and calls that hand over."""

from __future__ import annotations

import json

from service.core.agents import AgentProfile, AgentProfiles
from service.core.completion_events import ModelCall
from service.core.ids import LOCAL_OWNER, SessionId
from service.core.records import ChildLink, HandoffStarted
from tests.fakes.house import House
from tests.fakes.llama import call

AGENTS = AgentProfiles(
    profiles={
        "desk": AgentProfile(name="desk", description="Answers first.", system="You are the desk."),
        "expert": AgentProfile(name="expert", description="Knows all about tea", system="You are the expert."),
    },
    default="desk",
)


def hand_over(agent: str = "expert", message: str = "Which tea?", *, id: str = "h", **more: object) -> ModelCall:
    """A call that hands over to an agent."""
    return call("handoff_to", json.dumps({"agent": agent, "message": message, **more}), id=id)


async def children_of(house: House, session: SessionId) -> list[ChildLink]:
    """Give the children that the session's log names, in order."""
    return [record.child for record in await house.records(session) if isinstance(record, HandoffStarted)]


async def child_session(house: House, session: SessionId) -> SessionId:
    """Give the session of the only child."""
    (child,) = await children_of(house, session)
    assert (await house.sessions.view(child.session, LOCAL_OWNER)).parent is not None
    return child.session
