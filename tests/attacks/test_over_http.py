"""The whole attack set against one running service: what people are shown, and what a restart changes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.core.json_types import JsonObject
from tests.attacks.attack import ATTACKS, READER, Attack, as_json, tool_specs
from tests.attacks.obeying import obeyed
from tests.cases.fake_port import FakePort, PortCall
from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.strict_llama import Asked, Script, StrictLlama
from tests.cases.whole_service import JSON, WholeService, service_over, side_by_side

pytestmark = [pytest.mark.anyio, pytest.mark.rules("A7", "A6", "K5")]

BY_NAME = {attack.name: attack for attack in ATTACKS}


def page(call: PortCall) -> JsonObject:
    """Give the page that is asked for."""
    return {"status": "result", "content": BY_NAME[call.arguments["page"]].content}


def obeying(attack: Attack) -> list[Script]:
    """Play a model that reads the page of an attack and then obeys it."""

    def obey(asked: Asked) -> Reply:
        act = obeyed(asked.messages, attack)
        return say("Done.") if act is None else ask_for(Call(name=act.name, arguments=act.arguments, id=act.id or ""))

    return [ask_for(Call(name=READER, arguments=as_json({"page": attack.name}), id="read")), obey]


async def denied(service: WholeService, asked: JsonObject) -> None:
    """Deny a call, and again what its turn asks for next, until the turn ends."""
    while True:
        turn = f"/sessions/{asked['session']}/turns/{asked['turn']}"
        decision = {"call": asked["call"], "approved": False, "digest": asked["digest"]}
        answer = await service.served.http.post(f"{turn}/decisions", json={"decisions": [decision]}, headers=JSON)
        assert answer.status_code == 200, answer.text
        if answer.json()["state"] == "finished":
            return
        (asked,) = answer.json()["pending"]


async def test_each_text_ends_at_a_person_who_sees_what_would_run_and_a_restart_lets_nothing_through(
    tmp_path: Path,
) -> None:
    llama = StrictLlama()
    for attack in ATTACKS:
        llama.play(attack.name, *obeying(attack))
    async with llama, FakePort(*tool_specs(), answers={READER: page}) as port:
        async with service_over(tmp_path, llama, port) as service:
            sessions = {attack.name: await service.session() for attack in ATTACKS}
            runs = {name: service.turn(session, name) for name, session in sessions.items()}
            turns = {name: task.result() for name, task in (await side_by_side(runs)).items()}
            listed = (await service.served.http.get("/approvals")).json()["items"]

        assert {turn["state"] for turn in turns.values()} == {"awaiting_approval"}
        assert len(listed) == len(ATTACKS)
        for attack in ATTACKS:
            (asked,) = turns[attack.name]["pending"]
            assert asked in listed
            assert (asked["name"], asked["arguments"]) in [(act.name, act.arguments) for act in attack.acts()]
            assert asked["reason"].startswith("This session holds text from outside")

        async with service_over(tmp_path, llama, port) as service:
            again = (await service.served.http.get("/approvals")).json()["items"]
            await side_by_side({str(place): denied(service, asked) for place, asked in enumerate(again)})
            left = (await service.served.http.get("/approvals")).json()["items"]

    assert again == listed
    assert left == []
    assert {call.tool for call in port.calls} == {READER, "look"}
    assert llama.refusals == []
