"""Two messages at the same moment never make two runs (case 3)."""

from __future__ import annotations

import asyncio
from collections import Counter

import httpx
import pytest

from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import AT_ONCE, JSON, Start
from tests.web.serving import within_bound

pytestmark = [pytest.mark.anyio, pytest.mark.cases(3), pytest.mark.rules("H4", "L9")]

FORMS = (JSON, AT_ONCE, {"Accept": "text/event-stream"})
MESSAGES = 50


async def test_of_fifty_messages_while_the_model_is_slow_one_runs_and_the_others_are_told_which(start: Start) -> None:
    may_end = asyncio.Event()
    llama = StrictLlama(say("Here.", hold=may_end), say("Later."))
    service = await start(llama)
    session = await service.session()

    async def post(number: int) -> httpx.Response:
        body = {"content": f"Message {number}"}
        return await service.served.http.post(f"{session}/turns", json=body, headers=FORMS[number % len(FORMS)])

    posting = [asyncio.create_task(post(number)) for number in range(MESSAGES)]
    await within_bound(llama.arrived)
    asked = len(llama.asked)
    while sum(task.done() for task in posting) < MESSAGES - 1:
        await asyncio.wait(posting, return_when=asyncio.FIRST_COMPLETED, timeout=0.05)
    may_end.set()
    answers = await asyncio.gather(*posting)

    refused = [answer.json() for answer in answers if answer.status_code == 409]
    turns = (await service.served.http.get(f"{session}/turns")).json()["items"]
    assert (len(refused), len(turns), asked, llama.most_in_flight) == (MESSAGES - 1, 1, 1, 1)
    # Those that came before the message was in the log can't be told its name yet.
    assert {answer["code"] for answer in refused} == {"turn_in_progress"}
    assert {answer["turn"] for answer in refused} <= {turns[0]["id"], None}
    assert (await service.turn(session))["content"] == "Later."


async def test_of_messages_that_come_as_fast_as_they_can_each_runs_alone_or_is_refused(start: Start) -> None:
    llama = StrictLlama(say("Here."))
    service = await start(llama)
    session = await service.session()
    answers: list[httpx.Response] = []
    for _ in range(2):
        answers += await asyncio.gather(
            *(
                service.served.http.post(f"{session}/turns", json={"content": "Now"}, headers=AT_ONCE)
                for _ in range(MESSAGES)
            )
        )
    accepted = [answer.headers["location"] for answer in answers if answer.status_code == 202]
    for turn in accepted:
        assert (await service.finish(turn))["outcome"] == "answered"

    assert Counter(answer.status_code for answer in answers) == {
        202: len(accepted),
        409: 2 * MESSAGES - len(accepted),
    }
    assert len(accepted) >= 2
    assert (llama.most_in_flight, len(llama.asked)) == (1, len(accepted))
    assert [message["role"] for message in await service.messages(session)] == ["user", "assistant"] * len(accepted)
