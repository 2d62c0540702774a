"""Compaction by hand over HTTP."""

import httpx
import pytest

from service.core.errors import ProblemCode, RequestRefused
from service.core.labels import DataClass
from service.core.records import Summary
from service.core.usage import UsageTotals
from service.turns.compaction import ByHand
from tests.web.fakes import TURN, FakeSessions

pytestmark = [pytest.mark.anyio, pytest.mark.rules("C1")]


async def test_a_summary_is_answered_with_what_it_covers_and_the_session(
    http: httpx.AsyncClient, sessions: FakeSessions
) -> None:
    summary = Summary(
        covers=9,
        text="They met.",
        shortened=(3,),
        tokens_before=900,
        tokens_after=300,
        data_class=DataClass.SECRET,
        untrusted=True,
        fence="f" * 16,
        usage=UsageTotals(prompt_tokens=5, completions=1),
    )
    sessions.compacted = ByHand(summary=summary, seq=12, detail="600 tokens of the context were freed.")

    response = await http.post("/sessions/ses_1/compact")

    assert response.status_code == 200
    body = response.json()
    assert body["session"] == (await http.get("/sessions/ses_1")).json()
    assert body["detail"] == "600 tokens of the context were freed."
    assert body["summary"] == {
        "seq": 12,
        "covers": 9,
        "text": "They met.",
        "shortened": [3],
        "tokens_before": 900,
        "tokens_after": 300,
        "class": "secret",
        "untrusted": True,
        "usage": {
            "prompt_tokens": 5,
            "cached_tokens": 0,
            "completion_tokens": 0,
            "reasoning_tokens": 0,
            "completions": 1,
            "tool_calls": 0,
        },
    }


async def test_where_nothing_was_done_the_answer_says_why(http: httpx.AsyncClient) -> None:
    body = (await http.post("/sessions/ses_1/compact")).json()
    assert (body["summary"], body["detail"]) == (None, "Nothing was summarised.")


@pytest.mark.rules("H2", "H4")
async def test_a_busy_session_is_refused_as_a_second_turn_is(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    sessions.refusal = RequestRefused(ProblemCode.TURN_IN_PROGRESS, "Busy.", extensions={"turn": TURN}, retry_after_s=1)
    response = await http.post("/sessions/ses_1/compact")
    assert (response.status_code, response.json()["code"]) == (409, "turn_in_progress")
    assert (response.json()["turn"], response.headers["retry-after"]) == (TURN, "1")


@pytest.mark.rules("H2")
async def test_an_unknown_session_is_not_found(http: httpx.AsyncClient) -> None:
    assert (await http.post("/sessions/ses_2/compact")).status_code == 404
