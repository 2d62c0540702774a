"""The report of made-up figures: targets, tables, page, pictures, and runs in parts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.overhead.modes import FLOOD, MEMORY, MODES, MOST_STREAMS, PACED_FEW, PACED_MANY, SHORT_TURNS, Mode
from benchmarks.registry import BENCHMARKS
from benchmarks.report.bars import Bars, Group, as_svg
from benchmarks.report.descriptions import DESCRIPTIONS
from benchmarks.report.files import differences, rendered, write
from benchmarks.report.merging import OtherMachine, merged
from benchmarks.report.numbers import written
from benchmarks.report.page import page, targets_table
from benchmarks.report.tables import as_markdown, tables_of
from benchmarks.report.targets import TARGETS, Outcome, Target, verdict
from benchmarks.results import Figure, Machine, Results, write_results

HERE = Machine(processor="A & B <2>", cores=2, memory_gib=8, system="Linux", python="3.11.7")


def figure(mode: Mode, subject: str, measure: str, unit: str, *rounds: float) -> Figure:
    return Figure(
        benchmark=mode.benchmark,
        conditions=mode.conditions,
        subject=subject,
        measure=measure,
        unit=unit,
        rounds=rounds,
    )


def growth(records: str, value: float) -> Figure:
    conditions = f"{records} records in the session, turns of 16 tokens"
    return Figure(
        benchmark="growth",
        conditions=conditions,
        subject="turnkeeper",
        measure="CPU per turn",
        unit="ms",
        rounds=(value,),
    )


FIGURES = (
    figure(PACED_MANY, "direct", "latency p50", "µs", 35),
    figure(PACED_MANY, "nginx", "CPU per token", "µs", 20, 15, 14),
    figure(PACED_MANY, "turnkeeper", "CPU per token", "µs", 42),
    figure(PACED_MANY, "turnkeeper", "latency p50", "µs", 335),
    figure(PACED_FEW, "turnkeeper", "CPU per token", "µs", 50),
    figure(PACED_FEW, 'slow <peer> & "co"', "CPU per token", "µs", 400),
    figure(PACED_FEW, "quick peer", "CPU per token", "µs", 240),
    figure(FLOOD, "nginx", "throughput", "tokens/s", 200_000),
    figure(FLOOD, "turnkeeper", "throughput", "tokens/s", 190_000),
    figure(MEMORY, "turnkeeper", "memory per open stream", "KiB", 48),
    figure(MOST_STREAMS, "turnkeeper", "most streams", "streams", 480),
    growth("10", 1.0),
    growth("1,000", 1.1),
    growth("100,000", 1.15),
)
RESULTS = Results(
    begun="2026-11-30T18:00+00:00", machine=HERE, versions={"turnkeeper": "1.0"}, load=0.25, figures=FIGURES
)


def target(beginning: str) -> Target:
    (found,) = (target for target in TARGETS if target.measure.startswith(beginning))
    return found


@pytest.mark.parametrize(
    ("beginning", "value", "said"),
    [
        ("CPU per token, 64", 2.8, "met"),
        ("CPU per token of every peer", 4.8, "**not met**"),
        ("added latency over direct, 64 paced streams, p50", 0.3, "**not met**"),
        ("flood", 95, "met, the better one too"),
        ("memory per open stream", 48, "met"),
        ("streams at 50", 480, "**not met**"),
        ("CPU per turn in the session", 1.15, "met"),
    ],
)
def test_a_target_is_computed_from_medians_and_judged(beginning: str, value: float, said: str) -> None:
    found = target(beginning)
    outcome = found.compute(RESULTS)

    assert outcome is not None
    assert outcome.value == pytest.approx(value)
    assert verdict(found, outcome) == said


@pytest.mark.parametrize("one", TARGETS, ids=lambda one: one.measure)
def test_a_target_without_its_figures_is_not_measured(one: Target) -> None:
    outcome = one.compute(replace(RESULTS, figures=()))

    assert (outcome, verdict(one, outcome)) == (None, "not measured")


def test_the_peer_that_comes_nearest_is_named() -> None:
    outcome = target("CPU per token of every peer").compute(RESULTS)

    assert outcome == Outcome(value=4.8, workings="quick peer: 240 / 50 µs")


def test_each_target_stands_in_the_table_with_its_bound() -> None:
    table = targets_table(RESULTS)

    assert len(table.splitlines()) == 2 + len(TARGETS)
    assert "≤ 3 times; better ≤ 2.5" in table
    assert "2.8 times (42 / 15 µs)" in table


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.0004567, "0.000457"), (1.2, "1.2"), (99.96, "100"), (123.4, "123"), (1_234_567, "1,234,567")],
)
def test_values_keep_three_digits_and_all_before_the_point(value: float, text: str) -> None:
    assert written(value) == text


def test_a_table_has_a_line_for_each_subject_and_says_once_what_is_the_same() -> None:
    (table,) = tables_of([f for f in FIGURES if f.benchmark == "flood"])

    assert as_markdown(table).splitlines() == [
        f"{FLOOD.conditions}:",
        "",
        "| subject    | throughput, tokens/s |",
        "|------------|---------------------:|",
        "| nginx      |              200,000 |",
        "| turnkeeper |              190,000 |",
    ]


def test_what_was_measured_otherwise_stands_in_a_table_of_its_own() -> None:
    tables = tables_of([f for f in FIGURES if f.benchmark == "paced"])

    assert [table.head[-1] for table in tables] == ["latency p50, µs", "CPU per token, µs", "latency p50, µs"]
    assert tables[1].head[:2] == ("subject", "conditions")


def test_conditions_of_one_subject_are_the_lines() -> None:
    (table,) = tables_of([f for f in FIGURES if f.benchmark == "growth"])

    assert (table.caption, table.head) == ("Turns of 16 tokens", ("conditions", "CPU per turn, ms"))
    assert table.lines == (
        ("10 records in the session", "1"),
        ("1,000 records in the session", "1.1"),
        ("100,000 records in the session", "1.15"),
    )


def test_the_page_names_machine_versions_and_each_picture() -> None:
    files = rendered(RESULTS)
    text = files.pop(Path("performance.md"))

    assert text == page(RESULTS)
    for wanted in ("A & B <2>, 2 cores, 8 GiB", "turnkeeper 1.0", "load average of 0.2", "## How cost grows"):
        assert wanted in text
    assert files
    assert all(f"]({name.as_posix()})" in text for name in files)


def test_each_benchmark_has_words_on_the_page() -> None:
    others = {"cache", "reading", "growth", "log", "startup"}
    assert {mode.benchmark for mode in MODES} | others == set(DESCRIPTIONS)


def test_benchmarks_stand_on_the_page_in_the_order_in_which_they_run() -> None:
    assert list(DESCRIPTIONS) == list(BENCHMARKS)


def test_pictures_are_xml_whatever_names_hold() -> None:
    drawn = [text for name, text in rendered(RESULTS).items() if name.suffix == ".svg"]
    said = [" ".join(ElementTree.fromstring(text).itertext()) for text in drawn]

    assert any('slow <peer> & "co"' in text for text in said)


def widths_in(svg: str) -> list[float]:
    rects = ElementTree.fromstring(svg).findall(".//{*}g/{*}rect")
    return [float(rect.attrib["width"]) for rect in rects]


def test_bars_are_as_long_as_their_values() -> None:
    groups = (
        Group(name="a", values=(10, 40), own=True),
        Group(name="b", values=(20, None)),
        Group(name="c", values=(0, 5)),
    )
    widths = widths_in(as_svg(Bars(title="t", unit="µs", series=("p50", "p99"), groups=groups)))

    assert [round(width / max(widths), 3) for width in widths] == [0.25, 1, 0.5, 0, 0.125]


def test_values_far_apart_are_drawn_on_a_logarithmic_scale() -> None:
    groups = tuple(Group(name=str(value), values=(value,)) for value in (0.1, 1, 10, 100))
    drawn = as_svg(Bars(title="t", unit="ms", series=("first token",), groups=groups))
    steps = [after - before for before, after in pairwise(widths_in(drawn))]

    assert "logarithmic" in drawn
    assert steps == pytest.approx([steps[0]] * 3, abs=0.2)


def test_a_run_in_parts_replaces_the_benchmarks_that_were_run() -> None:
    again = figure(PACED_MANY, "turnkeeper", "CPU per token", "µs", 30)
    new = replace(RESULTS, begun="later", versions={"nginx": "2"}, load=1, figures=(again,))
    both = merged(RESULTS, new)

    assert [f for f in both.figures if f.benchmark == "paced"] == [again]
    assert {f.benchmark for f in both.figures} == {f.benchmark for f in FIGURES}
    assert (both.begun, both.load, both.versions) == ("later", 1, {"turnkeeper": "1.0", "nginx": "2"})
    assert merged(None, new) == new


def test_figures_of_two_machines_are_not_put_together() -> None:
    with pytest.raises(OtherMachine, match="another machine"):
        merged(replace(RESULTS, machine=replace(HERE, cores=64)), RESULTS)


def test_written_files_are_what_the_figures_say_until_one_is_changed(tmp_path: Path) -> None:
    docs, file = tmp_path / "docs", tmp_path / "results.json"
    write_results(RESULTS, file)
    missing = differences(file, docs)
    write(RESULTS, docs)
    (docs / "images" / "other.svg").write_text("", encoding="utf-8")
    same = differences(file, docs)
    with (docs / "performance.md").open("a", encoding="utf-8") as opened:
        opened.write("By hand.\n")
    (docs / "images" / "performance-old.svg").write_text("", encoding="utf-8")

    assert "performance.md is not there" in missing
    assert same == []
    assert differences(file, docs) == [
        "images/performance-old.svg has no figures to be made from",
        "performance.md is not what the figures say",
    ]


def test_pictures_of_what_is_not_measured_any_more_are_removed(tmp_path: Path) -> None:
    write(RESULTS, tmp_path)
    fewer = tuple(f for f in FIGURES if f.benchmark == SHORT_TURNS.benchmark)
    write(replace(RESULTS, figures=fewer), tmp_path)

    assert list((tmp_path / "images").iterdir()) == []


def test_without_figures_there_is_nothing_to_compare(tmp_path: Path) -> None:
    assert differences(tmp_path / "results.json", tmp_path / "docs") == []


def test_what_is_published_is_what_the_figures_say() -> None:
    assert differences() == []
