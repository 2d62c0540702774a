"""The machine's clock and ids."""

import re
import threading
from datetime import UTC, timedelta

import pytest

from service.adapters.system import RandomIds, SystemClock
from service.core.ids import SessionId


def test_the_time_of_day_is_aware_and_in_utc() -> None:
    clock = SystemClock()

    first, second = clock.now(), clock.now()

    assert first.tzinfo is UTC
    assert timedelta(0) <= second - first


def test_monotonic_time_never_goes_back() -> None:
    clock = SystemClock()
    looks = [clock.monotonic() for _ in range(1000)]

    assert looks == sorted(looks)


def test_ids_tell_what_they_name() -> None:
    ids = RandomIds()

    assert re.fullmatch(r"ses_[0-9a-f]{32}", ids.session())
    assert re.fullmatch(r"trn_[0-9a-f]{32}", ids.turn())


def test_ids_sort_strictly_in_the_order_in_which_they_were_made() -> None:
    ids = RandomIds()
    sessions = [ids.session() for _ in range(20_000)]
    turns = [ids.turn() for _ in range(20_000)]

    assert sessions == sorted(set(sessions))
    assert turns == sorted(set(turns))


def test_ids_sort_also_when_threads_make_them_in_turns() -> None:
    ids = RandomIds()
    made: list[SessionId] = []
    lock = threading.Lock()

    def make() -> None:
        for _ in range(2_000):
            with lock:
                made.append(ids.session())

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made == sorted(set(made))


@pytest.mark.rules("P6")
def test_a_fence_is_drawn_anew_each_time() -> None:
    ids = RandomIds()
    fences = {ids.fence() for _ in range(1000)}

    assert len(fences) == 1000
    assert all(re.fullmatch(r"[0-9a-f]{16}", fence) for fence in fences)
