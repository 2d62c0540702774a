"""Rounds become figures and a table, and the kernel tells what a process took."""

from __future__ import annotations

import os
import threading
import time

from benchmarks.startup.own_service import cpu_s
from benchmarks.startup.rounds import Measured, figures
from benchmarks.startup.shown import table


def one_round(value: float) -> list[Measured]:
    return [
        Measured(measure="start", unit="s", value=value, conditions="empty"),
        Measured(measure="start", unit="s", value=value + 1, conditions="full"),
        Measured(measure="start", unit="s", value=value + 2, conditions="empty", subject="other"),
    ]


def test_values_of_all_rounds_are_put_together_by_what_was_measured_of_whom_and_how() -> None:
    found = figures("startup", [one_round(1), one_round(5)])

    assert [(one.subject, one.conditions, one.rounds) for one in found] == [
        ("turnkeeper", "empty", (1, 5)),
        ("turnkeeper", "full", (2, 6)),
        ("other", "empty", (3, 7)),
    ]
    assert {(one.benchmark, one.measure, one.unit) for one in found} == {("startup", "start", "s")}


def test_the_table_has_a_line_for_each_figure_with_its_median_and_its_bounds() -> None:
    lines = table(figures("startup", [one_round(1), one_round(5), one_round(2)])).splitlines()

    assert len(lines) == 4
    assert lines[1].split() == ["turnkeeper", "start", "2", "1", "5", "s", "empty"]


def test_the_cpu_time_of_a_process_counts_threads_that_have_ended() -> None:
    thread = threading.Thread(target=lambda: sum(range(100_000)))
    thread.start()
    thread.join()

    before = time.process_time()
    found = cpu_s(os.getpid())
    after = time.process_time()

    assert before <= found <= after
