"""A few hundred connections with bytes of every kind, and what judges the answers: `make fuzz` sends more (H2)."""

from __future__ import annotations

import asyncio

import pytest

from service.web.early_answers import MALFORMED
from tests.fuzz.judge import Unsound
from tests.fuzz.raw_answers import statuses
from tests.fuzz.raw_bytes import send_all
from tests.fuzz.raw_requests import RIGHT, made

SEED = 20261130
CASES = 400
# Longer than a busy machine needs for sending: only what isn't whole is closed without a word.
PATIENCE_S = 10
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
CHUNKS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"


@pytest.mark.rules("H2")
@pytest.mark.timeout(120)
def test_whatever_bytes_come_the_service_answers_as_declared_and_nothing_is_left() -> None:
    outcome = asyncio.run(send_all(SEED, range(CASES), patience_s=PATIENCE_S))

    assert outcome.faults == []
    # Bytes that are all refused in the same way would show nothing.
    assert {200, 201, 202, 400, 404, 405, 415, 421, 422, 431} <= set(outcome.statuses)
    assert outcome.silent < CASES // 4


def test_answers_are_read_one_behind_the_other() -> None:
    malformed = MALFORMED.as_bytes([(b"date", b"now")])

    assert statuses(OK + CHUNKS + b"HTTP/1.1 204 No Content\r\n\r\n" + malformed, to_head=False) == [200, 200, 204, 400]
    assert statuses(OK[:-2] + OK[:-2], to_head=True) == [200, 200]
    assert statuses(b"", to_head=False) == []


@pytest.mark.parametrize(
    "answers",
    [
        OK[:-1],
        OK + b"\r\n",
        OK[:-2] + OK,
        CHUNKS[:-2],
        CHUNKS.replace(b"2\r\nhi", b"3\r\nhi"),
        OK.replace(b"200", b"700"),
        OK.replace(b"content-length: 2\r\n", b""),
        OK.replace(b"\r\n\r\n", b"\r\na\x00b: c\r\n\r\n"),
        OK.replace(b"\r\n\r\n", b"\r\ntransfer-encoding: chunked\r\n\r\n"),
        CHUNKS.replace(b"2\r\nhi\r\n", b"2\r\nhi\r\n" + OK),
    ],
    ids=str,
)
def test_what_is_no_answer_is_noticed(answers: bytes) -> None:
    with pytest.raises(Unsound):
        statuses(answers, to_head=False)


def test_an_event_stream_may_be_left_in_its_middle() -> None:
    stream = CHUNKS.replace(b"\r\n\r\n", b"\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n", 1)

    assert statuses(stream[:-6], to_head=False) == [200]


def test_a_number_always_makes_the_same_bytes_and_some_are_right() -> None:
    cases = [b"".join(made(SEED, number)) for number in range(CASES)]

    assert cases == [b"".join(made(SEED, number)) for number in range(CASES)]
    assert set(RIGHT) & set(cases)
    assert len(set(cases)) > CASES // 2
