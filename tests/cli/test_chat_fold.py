"""What a chat shows for which event: a pure fold, the same for live and for replayed events (D2, section 4)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from service.cli.chat_fold import TurnFold
from service.cli.chat_news import TurnNews, news_of, turn_news
from service.cli.chat_shown import Answer, Doing, Note, Piece, Reasoning, Shown
from service.core.json_types import JsonObject
from service.core.records import CacheLossReason, Limit
from service.core.sse import SseDecoder, SseEvent
from service.ports.running_service import ToldEvent

pytestmark = [pytest.mark.rules("D2")]

RECORDINGS = sorted((Path(__file__).parents[1] / "dashboard" / "recordings").glob("*.sse"))
SESSION, TURN = "ses_1", "trn_1"
LIMITS = {
    "tool_iterations": 8,
    "repeat_detection": True,
    "denied_repeats": 2,
    "thinking_tokens": 100,
    "tool_result_cap": 16384,
    "turn_time_s": 0,
    "max_tokens": 4096,
}
USAGE = {
    "prompt_tokens": 300,
    "cached_tokens": 120,
    "completion_tokens": 40,
    "reasoning_tokens": 12,
    "completions": 2,
    "tool_calls": 1,
}


def news(kind: str, /, **members: object) -> TurnNews:
    second = members.pop("second", 0)
    time = f"2030-01-02T09:30:{second:02}.000000Z"
    found = news_of(kind, {"type": kind, "session": SESSION, "turn": TURN, "time": time, **members})
    assert found is not None, kind
    return found


def user(content: str = "Hello", **limits: object) -> TurnNews:
    options = {"tool_choice": "auto", "on_tool_limit": "stop", "limits": LIMITS | limits}
    return news("user", content=content, options=options)


def content(text: str, offset: int, step: int = 1) -> TurnNews:
    return news("content", step=step, text=text, offset=offset)


def thought(text: str, offset: int = 0, step: int = 1) -> TurnNews:
    return news("reasoning", step=step, text=text, offset=offset)


def said(text: str, *calls: tuple[int, str, str], step: int = 1, reasoning: str = "") -> TurnNews:
    made = [
        {"call": call, "tool_call_id": f"c{call}", "model_call_id": None, "name": name, "arguments": arguments}
        for call, name, arguments in calls
    ]
    return news("assistant", step=step, content=text, reasoning=reasoning, tool_calls=made, finish_reason="stop")


def finished(outcome: str = "answered", text: str | None = "Hello.", **other: object) -> TurnNews:
    totals = {"next_call": 2, "class": "public", "untrusted_seen": False, "usage": USAGE}
    members = {"truncated": False, "content": text, "steps": 2, "usage": USAGE, "totals": totals, **other}
    return news("turn_finished", outcome=outcome, second=7, **members)


def folded(*events: TurnNews, fold: TurnFold | None = None) -> list[Shown]:
    fold = fold or TurnFold()
    return [shown for event in events for shown in fold.take(event)]


def notes(shown: Sequence[Shown]) -> list[str]:
    return [one.text for one in shown if isinstance(one, Note)]


def doings(shown: Sequence[Shown]) -> list[str]:
    return [one.text for one in shown if isinstance(one, Doing) and one.text]


def text_of(shown: Sequence[Shown], *, is_thought: bool = False) -> str:
    return "".join(one.text for one in shown if isinstance(one, Piece) and one.is_thought is is_thought)


def test_an_answer_is_shown_as_it_comes_and_whole_at_its_end() -> None:
    shown = folded(user(), content("Hel", 0), content("lo.", 3), said("Hello."), finished())

    assert text_of(shown) == "Hello."
    assert [one.text for one in shown if isinstance(one, Answer)] == ["Hello."]
    assert notes(shown) == [
        "2 steps · 1 call · 300 tokens read, 120 of them cached · 40 written, 12 of them thought · 7 s"
    ]


def test_a_reasoning_is_folded_to_a_count_against_its_cap() -> None:
    events = (user(), thought("a" * 40), thought("b" * 41, 40), content("Yes.", 0))
    counted = folded(*events, fold=TurnFold(reasoning=Reasoning.COUNTED))
    shown = folded(*events, fold=TurnFold(reasoning=Reasoning.SHOWN))
    hidden = folded(*events, fold=TurnFold(reasoning=Reasoning.HIDDEN))

    assert doings(counted) == ["thinks: about 10 of at most 100 tokens", "thinks: about 21 of at most 100 tokens"]
    assert notes(counted) == ["thought: about 21 of at most 100 tokens"]
    assert text_of(counted, is_thought=True) == text_of(hidden, is_thought=True) == ""
    assert text_of(shown, is_thought=True) == "a" * 40 + "b" * 41
    assert (notes(hidden), doings(hidden)) == ([], ["thinks", "thinks"])


def test_what_a_client_missed_is_caught_up_with() -> None:
    behind_a_break = news("partial", step=1, reasoning="Hm.", content="One two three")

    shown = folded(
        user(), thought("Hm."), content("One ", 0), behind_a_break, content(" four", 13), said("One two three four")
    )

    assert text_of(shown) == "One two three four"
    assert notes(shown) == ["thought: about 1 of at most 100 tokens"]


def test_what_was_told_already_is_not_shown_twice() -> None:
    shown = folded(
        content("One two", 0), content("two three", 4), news("partial", step=1, reasoning="", content="One two three")
    )

    assert text_of(shown) == "One two three"


def test_a_record_shows_what_no_delta_has_told() -> None:
    assert text_of(folded(user(), said("Whole."))) == "Whole."


def test_a_step_that_is_tried_again_says_why_once_and_begins_anew() -> None:
    record = news("attempt", step=1, attempt=1, kind="stream_closed")
    signal = news("retrying", step=1, attempt=1, reason="stream_closed", delay_ms=2000)

    for both in ((record, signal), (signal, record)):
        shown = folded(content("Half a", 0), *both, content("Whole.", 0), said("Whole."))

        assert text_of(shown) == "Half aWhole."
        assert doings(shown) == ["asks again in 2 s"]
        (line,) = notes(shown)
        assert line == (
            "retrying: the model's server failed (stream closed), so the step is asked again; "
            "forget what it has said in this step"
        )


def test_a_retry_before_any_word_asks_to_forget_nothing() -> None:
    shown = folded(
        news("attempt", step=1, attempt=1, kind="connect"), news("attempt", step=1, attempt=2, kind="connect")
    )

    assert notes(shown) == ["retrying: the model's server failed (connect), so the step is asked again"] * 2


@pytest.mark.rules("S4")
def test_a_turn_that_a_restart_goes_on_with_says_so() -> None:
    shown = folded(content("Half a", 0), news("resumed", attempt=1), content("Other words.", 0), said("Other words."))

    assert text_of(shown) == "Half aOther words."
    (line,) = notes(shown)
    assert line == (
        "the service was started again and goes on with this turn; "
        "the step was asked again; forget what the model has said in it"
    )


def test_other_words_in_the_same_step_are_never_glued_to_the_first_ones() -> None:
    shown = folded(content("Half a", 0), news("partial", step=1, reasoning="", content="Other"))

    assert [type(one) for one in shown] == [Piece, Note, Piece]
    assert text_of(shown) == "Half aOther"


def test_a_call_is_shown_with_its_arguments_result_labels_and_time() -> None:
    call = {"call": 1, "tool_call_id": "c1", "name": "get_weather"}
    result = {
        **call,
        **{"status": "ok", "content": "18 degrees\nsunny", "class": "internal", "untrusted": True},
        **{"truncated": True, "original_bytes": 90_000, "cap": 16_384},
    }

    shown = folded(
        user(),
        said("", (1, "get_weather", '{"city":"Paris"}')),
        news("tool_call_started", **call, arguments='{"city":"Paris"}', second=2),
        news("tool_result", **result, second=4),
    )

    assert notes(shown) == [
        'calls get_weather {"city":"Paris"}',
        "get_weather ok (internal, from outside, cut to 16384 of 90000 bytes, 2.0 s): 18 degrees",
    ]
    assert doings(shown) == ["runs get_weather · batch 1 of at most 8"]


def test_a_call_that_never_ran_is_shown_with_its_arguments_too() -> None:
    result = {"status": "denied", "content": '{"approved":false}', "class": "public", "untrusted": False}
    numbers = {"truncated": False, "original_bytes": 18, "cap": 100}

    shown = folded(
        said("", (4, "pay", '{"to":"Ann"}')),
        news("tool_result", call=4, tool_call_id="c4", name="pay", **result, **numbers),
    )

    assert notes(shown) == ['calls pay {"to":"Ann"}', 'pay denied (public): {"approved":false}']


@pytest.mark.parametrize(
    ("kind", "members", "words"),
    [
        ("queued", {"position": 3}, "waits in the queue, at place 3"),
        ("waiting", {"reason": "slot_busy", "waited_ms": 100}, "waits for a free slot of the model's server"),
        ("waiting", {"reason": "loading", "waited_ms": 61_000}, "the model is being loaded (1 min 1 s)"),
        (
            "progress",
            {"step": 1, "processed": 512, "cached": 100, "total": 1024, "time_ms": 5},
            "the model reads: 512 of 1024 tokens (50 %), 100 of them from the cache",
        ),
        (
            "progress",
            {"step": 1, "processed": 0, "cached": 0, "total": 0, "time_ms": 5},
            "the model reads: 0 of 0 tokens",
        ),
    ],
)
def test_what_a_turn_waits_for_is_said(kind: str, members: JsonObject, words: str) -> None:
    assert doings(folded(news(kind, **members))) == [words]


def test_limits_are_shown_as_they_are_used() -> None:
    usage = {"prompt_tokens": 900, "cached_tokens": 0, "completion_tokens": 124, "reasoning_tokens": 0}
    events = [user(), said("", (1, "clock", "{}")), news("usage", step=1, **usage), news("queued", position=1)]

    shown = folded(*events, fold=TurnFold(context_tokens=4096))

    assert doings(shown) == [
        "waits in the queue, at place 1 · batch 1 of at most 8 · context 1024 of 4096 tokens (25 %)"
    ]


@pytest.mark.parametrize("reason", CacheLossReason)
def test_a_lost_cache_is_explained_in_one_line(reason: CacheLossReason) -> None:
    (line,) = notes(
        folded(news("cache_loss", step=1, expected_tokens=900, cached_tokens=100, lost_tokens=800, reason=reason))
    )

    assert line.startswith("cache loss: the model's server read 800 tokens again that it had read before, because ")
    assert "\n" not in line


@pytest.mark.parametrize("limit", Limit)
def test_a_limit_that_ended_the_turn_is_named_with_its_setting(limit: Limit) -> None:
    stopped = notes(folded(user(turn_time_s=60), finished("turn_limit", None, limit=limit)))
    concluded = notes(folded(user(turn_time_s=60), finished(limit=limit)))

    assert stopped[0].startswith("the turn ended at the limit ")
    assert concluded[0].startswith("the answer was asked for at the limit ")
    assert any(name in stopped[0] for name in LIMITS)


def test_every_other_end_is_said_too() -> None:
    failed = finished("failed", None, error={"kind": "connect", "message": "gone \x1b[31m\u202e"})

    assert notes(folded(failed))[0] == "the turn failed: connect: gone \\u001b[31m\\u202e"
    assert notes(folded(finished("cancelled", None)))[0] == "the turn was cancelled"
    assert notes(folded(finished("session_full", None)))[0].startswith("the session is full")
    assert notes(folded(finished(truncated=True)))[0] == "the answer was cut at its longest"


def test_whoever_joins_a_turn_is_shown_its_message() -> None:
    shown = folded(user("One\nTwo \x1b[2J"), fold=TurnFold(says_message=True))

    assert notes(shown) == ["> One", "> Two \\u001b[2J"]


def test_decisions_handoffs_and_summaries_are_told() -> None:
    child = {"session": "ses_2", "turn": "trn_2"}
    shown = folded(
        news("approval_decided", call=1, approved=False, digest="sha256:0", by="bob", reason="Not\nnow"),
        news("approval_decided", call=2, approved=True, digest="sha256:0", by="ann", arguments="{}"),
        news("handoff_started", call=3, agent="files", child=child),
        news("handoff_returned", call=3, child=child, outcome="answered", content="Done."),
        news("summary", covers=9, text="…", shortened=[], tokens_before=3500, tokens_after=900, usage=USAGE),
        news("thinking_capped", step=1, reasoning_tokens=100),
        news("session_deleted", turn=None),
        news("store_error"),
        news("resync", last_pos=3),
    )

    assert notes(shown)[:6] == [
        "call 1 was denied by bob: Not",
        "call 2 was approved with other arguments by ann",
        "handed over to the agent files, in session ses_2",
        "the other agent is back: answered",
        "the context is nearly full, so the oldest part of the session was summarised: 3500 tokens became 900",
        "the thought was ended at the limit thinking_tokens (100 tokens)",
    ]
    assert len(notes(shown)) == 9


@pytest.mark.parametrize(
    "data",
    [
        {"type": "content"},
        {"type": "content", "step": "1", "text": "x", "offset": 0},
        {"type": "of a later version"},
        {"type": "turn_finished", "outcome": "of a later version"},
        {"type": "user", "content": 7, "options": []},
        {"type": "queued", "position": 1, "time": "yesterday"},
    ],
)
def test_what_this_version_does_not_know_is_passed_over(data: JsonObject) -> None:
    assert turn_news(ToldEvent(type=data["type"], data=data, pos=None)) is None


@pytest.mark.rules("K5")
def test_no_line_has_anything_hidden_in_it() -> None:
    evil = "\x1b]0;x\x07\u202e\u2066\r\n\x9b"
    result = {"status": "ok", "content": evil, "class": "public", "untrusted": True}
    numbers = {"truncated": False, "original_bytes": 9, "cap": 9}
    shown = folded(
        user(evil),
        said("", (1, evil, evil)),
        news("tool_result", call=1, tool_call_id="c1", name=evil, **result, **numbers),
        news("approval_decided", call=1, approved=True, digest="", by=evil, reason=evil),
        news("handoff_started", call=1, agent=evil, child={"session": evil, "turn": evil}),
        finished("failed", None, error={"kind": "connect", "message": evil}),
        fold=TurnFold(says_message=True),
    )

    assert len(notes(shown)) > 5
    assert all(line.isprintable() for line in [*notes(shown), *doings(shown)])


def _events(path: Path) -> list[ToldEvent]:
    decoder = SseDecoder(max_line_bytes=1 << 26, max_event_bytes=1 << 26)
    items = [item for item in decoder.feed(path.read_bytes()) if isinstance(item, SseEvent)]
    return [ToldEvent(type=item.event, data=json.loads(item.data), pos=None) for item in items]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_turn_is_shown_whole_and_the_same_when_only_its_records_are_left(path: Path) -> None:
    turns: dict[str, list[TurnNews]] = {}
    for event in _events(path):
        if (found := turn_news(event)) is not None and found.turn:
            turns.setdefault(found.turn, []).append(found)
    for events in turns.values():
        live, replayed = TurnFold(), TurnFold()
        shown = folded(*events, fold=live)
        records = folded(*(event for event in events if event.time is not None), fold=replayed)

        assert all(line.isprintable() for line in [*notes(shown), *doings(shown)])
        assert live.end == replayed.end
        if live.end is not None and live.end.content:
            assert text_of(shown).endswith(live.end.content) == text_of(records).endswith(live.end.content)
        calls = [line for line in notes(shown) if line.startswith("calls ")]
        assert calls == [line for line in notes(records) if line.startswith("calls ")]
