"""When a silent stream, or one that does not get on, has been waited for too long (L4). Seconds are made up."""

import pytest

from service.core.errors import ErrorKind
from service.core.stream_patience import StreamPatience

pytestmark = pytest.mark.rules("L4")


def waited(patience: StreamPatience, now: float, advances: int) -> tuple[float, str]:
    deadline, failure = patience.deadline(now, advances)
    assert failure.kind is ErrorKind.STALLED
    return deadline, failure.message


def test_silence_is_counted_from_each_read_anew() -> None:
    patience = StreamPatience(liveness_ms=90_000, progress_ms=600_000)
    silent = "llama-server was silent for 90 s (liveness_ms)"

    assert waited(patience, 1000, 0) == (1090, silent)
    assert waited(patience, 1080, 0) == (1170, silent)
    assert waited(patience, 1500, 0) == (1590, silent)


def test_a_stream_of_pings_is_waited_for_until_nothing_has_advanced_for_too_long() -> None:
    patience = StreamPatience(liveness_ms=90_000, progress_ms=600_000)
    patience.deadline(1000, 0)

    assert waited(patience, 1510, 0) == (1600, "llama-server was silent for 90 s (liveness_ms)")
    assert waited(patience, 1511, 0) == (
        1600,
        "llama-server sent no token and no progress for 600 s (progress_ms)",
    )


def test_a_token_or_a_step_of_progress_begins_the_time_anew() -> None:
    patience = StreamPatience(liveness_ms=90_000, progress_ms=100_000)
    patience.deadline(1000, 0)

    assert waited(patience, 1050, 1)[0] == 1140
    assert waited(patience, 1070, 1)[0] == 1150
    assert waited(patience, 1071, 2)[0] == 1161


def test_the_time_that_our_reader_takes_between_reads_does_not_count() -> None:
    patience = StreamPatience(liveness_ms=90_000, progress_ms=100_000)
    patience.deadline(1000, 0)

    assert waited(patience, 9000, 1)[0] == 9090
