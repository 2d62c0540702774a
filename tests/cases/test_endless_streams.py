"""However a stream ends, the turn ends too (case 19)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.streaming import place_of, stream_bytes
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import Start, side_by_side

pytestmark = [pytest.mark.anyio, pytest.mark.cases(19), pytest.mark.rules("L4", "L7")]

ANSWER = say("It is noon, \u00e9t\u00e9 comme hiver.")
CALL = ask_for(Call(name="clock", arguments='{"city": "Rome and more"}'))


def without_an_end(whole: Reply) -> dict[str, Reply]:
    endless = replace(whole, finish=None)
    finished = place_of(whole, f'"finish_reason":"{whole.finish}"'.encode())
    places = {f"cut after byte {at}": replace(whole, cut_at=at) for at in range(0, finished, 331)}
    return {
        "no reason": endless,
        "no reason, no usage": replace(endless, usage=False),
        "no reason, no mark of the end": replace(endless, done=False),
        "no reason, nothing": replace(endless, usage=False, done=False),
        "cut before the head": replace(whole, cut_at=-1),
        "reset after the head": replace(whole, cut_at=0, reset=True),
        "reset in the middle": replace(whole, cut_at=finished // 2, reset=True),
        "cut within the reason": replace(whole, cut_at=finished + 10),
        "cut within a character": replace(whole, cut_at=place_of(whole, b"\xc3\xa9") + 1)
        if whole is ANSWER
        else endless,
        **places,
    }


@pytest.mark.parametrize("whole", [ANSWER, CALL], ids=["text", "a call"])
async def test_a_stream_without_a_reason_is_a_failed_attempt(
    start: Start, subtests: pytest.Subtests, whole: Reply
) -> None:
    llama, port, broken = StrictLlama(), FakePort(), without_an_end(whole)
    service = await start(llama, port, retry_attempts=0)

    async def ask(kind: str) -> tuple[JsonObject, JsonObject]:
        llama.play(kind, broken[kind], say("Here again."))
        session = await service.session()
        return await service.turn(session, kind), await service.turn(session)

    for kind, run in (await side_by_side({kind: ask(kind) for kind in broken})).items():
        with subtests.test(kind):
            turn, next_turn = run.result()

            assert (turn["outcome"], turn["error"]["kind"]) == ("failed", "stream_closed")
            assert next_turn["content"] == "Here again."
    # Of a call nobody knows whether it was whole.
    assert port.calls == []


@pytest.mark.parametrize("whole", [ANSWER, CALL], ids=["text", "a call"])
async def test_a_stream_that_breaks_behind_its_reason_is_whole(
    start: Start, subtests: pytest.Subtests, whole: Reply
) -> None:
    llama, port, behind = StrictLlama(), FakePort(), place_of(whole, b'"usage"')
    service = await start(llama, port, retry_attempts=0)

    async def ask(at: int, reset: bool) -> JsonObject:
        llama.play(f"{at} {reset}", replace(whole, cut_at=at, reset=reset), say("It is noon."))
        return await service.turn(await service.session(), f"{at} {reset}")

    end = stream_bytes(whole)
    places = (behind - 60, behind, behind + 40, end - 14, end - 7)
    runs = {f"{'reset' if r else 'cut'} after byte {at}": ask(at, r) for at in places for r in (False, True)}
    for kind, run in (await side_by_side(runs)).items():
        with subtests.test(kind):
            turn = run.result()

            assert turn["outcome"] == "answered"
            assert turn["content"].startswith("It is noon")
    assert len(port.calls) == (len(runs) if whole is CALL else 0)


@pytest.mark.cases(4)
async def test_a_server_that_never_ends_its_streams_is_asked_so_often_and_no_more(start: Start) -> None:
    llama = StrictLlama(replace(ANSWER, finish=None))
    service = await start(llama, retry_attempts=1)
    session = await service.session()
    turn = await service.turn(session)

    assert (turn["outcome"], turn["error"]["kind"], len(llama.asked)) == ("failed", "stream_closed", 2)
    assert turn["content"] == "It is noon, \u00e9t\u00e9 comme hiver."
    assert (await service.served.http.get(session)).json()["state"] == "idle"
    llama.play("Hello", say("Here again."))
    assert (await service.turn(session))["content"] == "Here again."
