import pytest

from service.web.negotiation import (
    EVENT_STREAM,
    JSON,
    NDJSON,
    PLAIN_TEXT,
    AnswerForm,
    answer_form,
    preferred,
    prefers_async,
)

pytestmark = pytest.mark.rules("H1")


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, EVENT_STREAM),
        ("", EVENT_STREAM),
        ("*/*", EVENT_STREAM),
        ("text/event-stream", EVENT_STREAM),
        ("text/*", EVENT_STREAM),
        ("TEXT/Event-Stream", EVENT_STREAM),
        ("application/json", JSON),
        ("application/*", JSON),
        ("application/json; charset=utf-8", JSON),
        ("application/json, text/event-stream", EVENT_STREAM),
        ("application/json, text/plain, */*", JSON),
        ("application/json;q=0.9, */*;q=0.8", JSON),
        ("text/event-stream;q=0.5, application/json", JSON),
        ("text/event-stream;q=0, */*", JSON),
        ("*/*;q=0.1, application/json;q=0", EVENT_STREAM),
        ("text/html,application/xml;q=0.9,*/*;q=0.8", EVENT_STREAM),
        ("application/json;q=1.000", JSON),
        ("text/html", None),
        ("application/jsonl", None),
        ("*/*;q=0", None),
        ("application/json;q=0", None),
        ("application/json;q=2", None),
        ("application/json;q=much", None),
        ("json", None),
        (",;,", None),
        ("*/json", None),
    ],
)
def test_accept_chooses_between_events_and_json(accept: str | None, chosen: str | None) -> None:
    assert preferred(accept, (EVENT_STREAM, JSON)) == chosen


def test_the_first_offer_is_ours_where_the_caller_has_no_wish() -> None:
    assert preferred("application/*", (JSON, NDJSON)) == JSON
    assert preferred("application/x-ndjson, application/json", (JSON, NDJSON)) == JSON
    assert preferred("application/x-ndjson, application/json;q=0.5", (JSON, NDJSON)) == NDJSON


@pytest.mark.parametrize(
    ("accept", "taken"),
    [
        (None, True),
        ("*/*", True),
        ("text/*", True),
        ("text/plain; charset=utf-8", True),
        ("text/html, */*;q=0.1", True),
        ("text/html", False),
        ("application/json", False),
        ("text/plain;q=0, */*", False),
    ],
)
def test_plain_text_is_taken_or_not(accept: str | None, taken: bool) -> None:
    assert preferred(accept, (PLAIN_TEXT,)) == (PLAIN_TEXT if taken else None)


@pytest.mark.parametrize(
    ("prefer", "wanted"),
    [
        ([], False),
        (["respond-async"], True),
        (["Respond-Async"], True),
        (["wait=10, respond-async; foo=bar"], True),
        (["wait=10", "respond-async"], True),
        (["respond-asynchronously"], False),
        (["return=minimal"], False),
    ],
)
def test_prefer_asks_for_an_answer_at_once(prefer: list[str], wanted: bool) -> None:
    assert prefers_async(prefer) is wanted


def test_accept_without_a_known_type_wins_over_prefer() -> None:
    assert answer_form("text/html", ["respond-async"]) is None
    assert answer_form("application/json", ["respond-async"]) is AnswerForm.ASYNC
