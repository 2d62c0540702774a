"""When a silent stream, or one that does not get on, has been waited for too long (L4). Seconds are made up."""

import pytest

from service.core.errors import ErrorKind, ModelFailure
from service.core.slots_report import PromptPlace, SlotsReport
from service.core.stream_patience import StreamPatience

pytestmark = pytest.mark.rules("L4")

SILENT = "llama-server was silent for 90 s (liveness_ms)"
STUCK = "llama-server sent no token and no progress for 600 s (progress_ms)"


def patience(*, progress_ms: int = 600_000) -> StreamPatience:
    return StreamPatience(liveness_ms=90_000, progress_ms=progress_ms)


def at(processed: int) -> SlotsReport:
    return SlotsReport(works=True, prompts=(PromptPlace(slot=0, task=4, processed=processed),))


def failure_at(waited: StreamPatience, now: float, slots: SlotsReport | None) -> str:
    with pytest.raises(ModelFailure) as caught:
        waited.look(now, slots)
    assert caught.value.kind is ErrorKind.STALLED
    return caught.value.message


def test_a_silent_server_is_looked_at_in_the_middle_of_its_time_and_at_the_end() -> None:
    waited = patience()

    assert waited.begin(1000, 0) == 1045
    assert waited.look(1045, at(128)) == 1090
    assert failure_at(waited, 1090, at(128)) == SILENT


def test_silence_is_counted_from_each_read_anew() -> None:
    waited = patience()
    waited.begin(1000, 0)

    assert waited.begin(1080, 0) == 1125
    assert waited.look(1125, None) == 1170
    assert waited.look(1169.9, None) == 1170
    assert failure_at(waited, 1170, None) == SILENT


def test_silence_is_taken_as_work_as_long_as_a_prompt_moves_on_between_two_looks() -> None:
    waited = patience()
    waited.begin(1000, 0)
    waited.look(1045, at(128))

    assert waited.look(1090, at(256)) == 1180
    assert waited.look(1180, at(384)) == 1270
    assert failure_at(waited, 1270, at(384)) == SILENT


@pytest.mark.parametrize(
    ("first", "second"),
    [(None, at(128)), (at(128), None), (at(128), SlotsReport(works=False))],
    ids=["not had before", "not had now", "at rest"],
)
def test_slots_that_show_no_move_change_nothing(first: SlotsReport | None, second: SlotsReport | None) -> None:
    waited = patience()
    waited.begin(1000, 0)
    waited.look(1045, first)

    assert failure_at(waited, 1090, second) == SILENT


def test_a_look_of_an_earlier_silence_is_not_compared_with() -> None:
    waited = patience()
    waited.begin(1000, 0)
    waited.look(1045, at(128))
    waited.begin(1050, 0)

    assert failure_at(waited, 1140, at(256)) == SILENT


def test_a_prompt_that_moves_on_does_not_move_the_bound_of_progress() -> None:
    waited = patience(progress_ms=100_000)
    waited.begin(1000, 0)
    waited.look(1045, at(128))

    assert waited.look(1090, at(256)) == 1100
    assert not waited.is_stuck(1099.9)
    assert waited.is_stuck(1100)
    assert failure_at(waited, 1100, at(384)) == STUCK.replace("600 s", "100 s")


def test_a_stream_of_pings_is_waited_for_until_nothing_has_advanced_for_too_long() -> None:
    waited = patience()
    waited.begin(1000, 0)

    assert waited.begin(1550, 0) == 1595
    assert waited.look(1595, None) == 1600
    assert waited.begin(1590, 0) == 1600
    assert failure_at(waited, 1600, None) == STUCK


def test_a_token_or_a_step_of_progress_begins_the_time_anew() -> None:
    waited = patience(progress_ms=100_000)
    waited.begin(1000, 0)

    waited.begin(1050, 1)
    assert not waited.is_stuck(1149)
    waited.begin(1070, 1)
    assert waited.is_stuck(1150)
    waited.begin(1071, 2)
    assert not waited.is_stuck(1170)
    assert waited.is_stuck(1171)


def test_the_time_that_our_reader_takes_between_reads_does_not_count() -> None:
    waited = patience(progress_ms=100_000)
    waited.begin(1000, 0)

    assert waited.begin(9000, 1) == 9045
    assert waited.look(9045, None) == 9090
