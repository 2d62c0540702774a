"""However a turn ends while its calls are open, each call has its answer, and the next turn succeeds (case 2)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.replies import Call, Reply, ask_for, refuse, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import Start, WholeService, service_over, side_by_side
from tests.web.serving import within_bound

pytestmark = [pytest.mark.anyio, pytest.mark.cases(2), pytest.mark.rules("T13", "P4")]


def calls(*names: str, same: bool = False) -> tuple[Call, ...]:
    """Make calls with arguments of their own, or all with the same."""
    return tuple(Call(name=name, arguments=f'{{"n":{0 if same else n}}}', id=f"id-{n}") for n, name in enumerate(names))


def a_port() -> FakePort:
    port = FakePort(
        *map(open_spec, ("clock", "hangs", "fails", "breaks")),
        open_spec("slow", timeout_ms=1000),
        open_spec("again", idempotent=True),
        answers={"fails": lambda _: {"status": "failed", "message": "no"}, "breaks": lambda _: None},
    )
    port.held = {"hangs", "slow", "again"}
    return port


def answers(messages: list[JsonObject]) -> Counter[str]:
    return Counter(message["tool_call_id"] for message in messages if message["role"] == "tool")


async def the_session_goes_on(service: WholeService, session: str, llama: StrictLlama, *ids: str) -> None:
    turn = await service.turn(session, f"And now, {session}?")
    assert (turn["outcome"], turn["content"]) == ("answered", "Gone on.")
    asked = next(asked for asked in reversed(llama.asked) if asked.messages[-1]["content"] == f"And now, {session}?")
    assert answers(asked.messages) == Counter(ids)
    assert len(await service.records(session, "tool_result")) == len(ids)


async def test_a_cancel_while_calls_are_in_flight_waiting_and_done(start: Start) -> None:
    llama, port = StrictLlama(ask_for(*calls("clock", "hangs", "hangs", "hangs")), say("Gone on.")), a_port()
    service = await start(llama, port, tool_concurrency=2)
    session = await service.session()
    turn = await service.start(session)
    await within_bound(port.arrived)
    cancelled = await service.cancel(turn)

    assert cancelled["outcome"] == "cancelled"
    await within_bound(port.left)
    await the_session_goes_on(service, session, llama, "id-0", "id-1", "id-2", "id-3")


FAILED = say("It failed.")
ENDS: dict[str, tuple[tuple[Call, ...], Reply | None, str]] = {
    "a tool that fails": (calls("fails", "clock"), FAILED, "answered"),
    "a tool that breaks off": (calls("breaks", "clock"), FAILED, "answered"),
    "a tool that takes too long": (calls("slow", "clock"), FAILED, "answered"),
    "a time limit": (calls("clock", "hangs"), None, "turn_limit turn_time"),
    "a limit that keeps the batch from running": (calls(*["clock"] * 3, same=True), None, "turn_limit repeated_call"),
    "a model server that refuses the results": (calls("clock", "fails"), refuse(401, "Invalid API Key"), "failed"),
    "a stream that breaks behind the results": (calls("clock"), say("", finish=None), "failed"),
}


async def test_each_other_end_of_a_turn(start: Start, subtests: pytest.Subtests) -> None:
    llama, port = StrictLlama(), a_port()
    service = await start(llama, port, turn_time_s=2, retry_attempts=0)

    async def end(kind: str) -> str:
        batch, behind, _ = ENDS[kind]
        llama.play(kind, ask_for(*batch), *((behind,) if behind is not None else ()), say("Gone on."))
        session = await service.session()
        turn = await service.turn(session, kind)
        await the_session_goes_on(service, session, llama, *(call.id for call in batch))
        return " ".join(filter(None, (turn["outcome"], turn["limit"])))

    for kind, run in (await side_by_side({kind: end(kind) for kind in ENDS})).items():
        with subtests.test(kind):
            assert run.result() == ENDS[kind][2]


async def test_a_restart_while_calls_are_in_flight(tmp_path: Path) -> None:
    llama, port = StrictLlama(ask_for(*calls("clock", "hangs", "again")), say("Back."), say("Gone on.")), a_port()
    async with llama, port:
        async with service_over(tmp_path, llama, port, drain_s=0) as service:
            session = await service.session()
            turn = await service.start(session)
            await within_bound(port.arrived)
        port.release.set()
        async with service_over(tmp_path, llama, port) as service:
            finished = await service.finish(turn)
            await the_session_goes_on(service, session, llama, "id-0", "id-1", "id-2")

    assert (finished["outcome"], finished["content"]) == ("answered", "Back.")
    assert llama.refusals == []
    # Only the tool that says so gets its call once more, under the same key.
    sent = Counter((call.tool, call.key) for call in port.calls)
    assert sorted((tool, times) for (tool, _), times in sent.items()) == [("again", 2), ("clock", 1), ("hangs", 1)]
