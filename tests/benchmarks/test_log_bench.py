"""The benchmark of the store writes and reads what it says."""

from __future__ import annotations

from benchmarks.log.run import Sizes, measure

SMALL = Sizes(appenders=3, turns=2, appends=4, records=10)


def test_each_round_gives_each_figure_once() -> None:
    found = measure(2, sizes=SMALL)

    assert {one.unit for one in found} == {"records/s", "turns/s", "µs"}
    assert all(len(one.rounds) == 2 and one.value > 0 for one in found)
    assert len({(one.measure, one.conditions) for one in found}) == len(found)
