"""A long result is cut for the model, and kept whole in the log (T9)."""

from __future__ import annotations

import re

import pytest

from service.core.baseline import Limits
from service.core.completion_events import ModelCall
from service.core.ids import LOCAL_OWNER, SessionId
from service.core.records import Outcome, ToolResult
from service.core.tool_port import AnswerStatus, ToolAnswer
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.turns.turn_facts import results_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("T9")]

HANDLE = re.compile(r'read_result (\{"call": \d+, "offset": \d+\})')
BOOK = "".join(f"Line {number} \U0001f469\u200d\U0001f680 é\r\n" for number in range(400))


def port_of(text: str, *, status: AnswerStatus = AnswerStatus.RESULT, **labels: object) -> TablePort:
    answer = ToolAnswer(status=status, text=text, **labels)  # pyright: ignore[reportArgumentType]
    return TablePort(spec("dump"), spec("t"), tools={"dump": lambda request: answer})


def dump(number: int = 0) -> ModelCall:
    return call("dump", f'{{"city": "{number}"}}', id=f"id{number}")


async def full_text(house: House, session: SessionId, number: int) -> str:
    (seq,) = [
        entry.seq
        for entry in await house.entries(session)
        if isinstance(entry.record, ToolResult) and entry.record.call == number
    ]
    return await house.sessions.full_text(session, LOCAL_OWNER, seq)


@pytest.mark.rules("T12")
@pytest.mark.parametrize("size", [999, 1000, 1001])
@pytest.mark.parametrize("letter", ["x", "é"])
async def test_a_result_above_its_cap_is_cut_and_the_record_says_so(size: int, letter: str) -> None:
    text = "x" * (size % 2) + letter * (size // len(letter.encode()))
    text = text[: len(text) - (len(text.encode()) - size)]
    llama = ScriptedLlama(ask_for(dump()), say("Read."))
    house = House(llama, port_of(text), limits=Limits(tool_result_cap=1000))
    session = await house.session()

    view = await house.run(session)

    (shown,) = await results_of(house, session)
    assert view.outcome is Outcome.ANSWERED
    assert (shown.truncated, shown.original_bytes, shown.cap) == (size > 1000, size, 1000)
    assert len(shown.content.encode()) <= 1000
    assert llama.requests[1].messages[-1]["content"] == shown.content
    assert (shown.content == text) is (size <= 1000)
    assert await full_text(house, session, 1) == text


async def test_a_cut_result_keeps_head_and_tail_and_says_how_to_get_the_rest() -> None:
    house = House(ScriptedLlama(ask_for(dump()), say("Read.")), port_of(BOOK), limits=Limits(tool_result_cap=1000))
    session = await house.session()

    await house.run(session)

    (shown,) = await results_of(house, session)
    head, tail = shown.content.split("\n[… ")[0], shown.content.split(" …]\n")[-1]
    missing = len(BOOK.encode()) - len(head.encode()) - len(tail.encode())
    assert BOOK.startswith(head)
    assert BOOK.endswith(tail)
    assert f"[… {missing} of {len(BOOK.encode())} bytes are left out here; " in shown.content
    assert HANDLE.findall(shown.content) == [f'{{"call": 1, "offset": {len(head)}}}']


@pytest.mark.parametrize("status", [AnswerStatus.FAILED, AnswerStatus.DENIED])
async def test_a_long_failure_is_cut_like_a_result(status: AnswerStatus) -> None:
    house = House(
        ScriptedLlama(ask_for(dump()), say("I see.")),
        port_of(BOOK, status=status),
        limits=Limits(tool_result_cap=1000),
    )
    session = await house.session()

    await house.run(session)

    (shown,) = await results_of(house, session)
    assert shown.truncated
    assert len(shown.content.encode()) <= 1000
    assert (await full_text(house, session, 1)).endswith(BOOK)


@pytest.mark.parametrize("calls", [1, 2, 4, 7])
async def test_the_results_of_one_batch_share_half_of_the_room_that_is_left(calls: int) -> None:
    batch = ask_for(*map(dump, range(calls)))
    used = Play(calls=batch.calls, prompt_tokens=1900, completion_tokens=100)
    house = House(ScriptedLlama(used, say("Read."), context_tokens=6000), port_of("x" * 100_000))
    session = await house.session()

    await house.run(session)

    shown = await results_of(house, session)
    together = sum(len(one.content.encode()) for one in shown)
    # Half of 4000 tokens at three bytes; one alone gets a quarter of 6000.
    assert together <= min(6000, calls * 4500)
    assert together > min(6000, calls * 4500) * 0.9
    assert all(one.truncated and len(one.content.encode()) <= one.cap for one in shown)
