"""The streams of a session that hands over, over a real connection and on the stores that there are (G2, H6)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from tests.adapters.log_contract.stores import STORES
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.turns.approving import asking_port
from tests.turns.handing_over import AGENTS, hand_over
from tests.web.cut_client import CutClient, record_lines
from tests.web.serving import Frame, Served, frames_of
from tests.web.test_whole_way import HI, new_session, served_house, stream

pytestmark = [pytest.mark.anyio, pytest.mark.rules("G2", "H6")]

SCRIPT = (
    Play(reasoning="An expert is needed", calls=(hand_over(),)),
    ask_for(call("look", id="l"), content="One moment."),
    say("Green tea\u2028in a blue cup.", reasoning="well"),
    say("Take green tea."),
)


@pytest.fixture(params=list(STORES))
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Served]:
    async with STORES[request.param](tmp_path) as log:
        house = House(ScriptedLlama(*SCRIPT), asking_port(), log=log, agents=AGENTS)
        async with served_house(house) as served:
            yield served


@asynccontextmanager
async def following(service: Served, path: str) -> AsyncGenerator[AsyncGenerator[Frame]]:
    async with service.http.stream("GET", path) as response, aclosing(frames_of(response)) as frames:
        assert response.status_code == 200
        yield frames


async def until_end_of(session: str, frames: AsyncGenerator[Frame]) -> list[Frame]:
    """Read until a turn of this session has ended."""
    seen: list[Frame] = []
    async for frame in frames:
        seen.append(frame)
        if frame.field("event") == "turn_finished" and f"/sessions/{frame.data['session']}" == session:
            break
    return seen


@pytest.mark.cases(9)
async def test_a_handoff_is_followed_live_as_one_with_its_parent_and_replayed_the_same(service: Served) -> None:
    session = await new_session(service)
    async with following(service, f"{session}/events") as frames:
        posted = await stream(service, "POST", f"{session}/turns", json=HI)
        live = await until_end_of(session, frames)
    async with following(service, f"{session}/events?after=0") as frames:
        replayed = await until_end_of(session, frames)
    client = CutClient()
    client.take(*live)

    records = [frame for frame in live if frame.field("id") is not None]
    assert record_lines(replayed) == record_lines(live)
    members = dict.fromkeys(frame.data["session"] for frame in records)
    assert len(members) == 2
    for member in members:
        page = (await service.http.get(f"/sessions/{member}/records")).json()
        assert page["items"] == [frame.data for frame in records if frame.data["session"] == member]
    assert {frame.data["session"] for frame in posted[1:]} == {session.removeprefix("/sessions/")}


async def test_a_stream_of_a_family_goes_on_behind_each_of_its_records(service: Served) -> None:
    session = await new_session(service)
    await stream(service, "POST", f"{session}/turns", json=HI)
    async with following(service, f"{session}/events?after=0") as frames:
        lines = record_lines(await until_end_of(session, frames))

    for place, line in enumerate(lines[:-1], start=1):
        async with following(service, f"{session}/events?after={line[0].removeprefix('id: ')}") as frames:
            assert record_lines(await until_end_of(session, frames)) == lines[place:]


@pytest.mark.rules("H1", "A1")
async def test_the_answer_to_a_message_ends_when_the_child_waits_for_a_person() -> None:
    script = (ask_for(hand_over()), ask_for(call("pay", id="p")))
    house = House(ScriptedLlama(*script), asking_port(), agents=AGENTS)
    async with served_house(house) as service:
        session = await new_session(service)
        posted = await stream(service, "POST", f"{session}/turns", json=HI)

    asked = posted[-1]
    assert asked.field("event") == "approval_requested"
    assert f"/sessions/{asked.data['session']}" != session
    assert [call["name"] for call in asked.data["calls"]] == ["pay"]
