"""The reading among the benchmarks of the report: which figures come of a comparison, and what fails it."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.overhead.rounds import Plan
from benchmarks.reading.attempts import Attempt, Outcome
from benchmarks.reading.failures import AttemptFailed, BenchmarkFailed
from benchmarks.reading.model_server import ServerFacts
from benchmarks.reading.obedient import programs
from benchmarks.reading.obedient.comparison import Comparison, Say, compare_sizes
from benchmarks.reading.obedient.counters import Counted
from benchmarks.reading.obedient.options import ObedientOptions, obedient_options_of
from benchmarks.reading.obedient.rounds import Compared, Measured, NotCompared, Rounds
from benchmarks.reading.obedient.run import OPTIONS, measure
from benchmarks.reading.rivals.rival import RivalAnswer
from benchmarks.reading.spent import Meter, Spent
from benchmarks.reading.tasks import Kind, Task, make_task
from benchmarks.reading.texts import WordListText
from benchmarks.registry import BENCHMARKS
from benchmarks.report.plots import PLOTS
from benchmarks.report.tables import tables_of
from benchmarks.results import Figure, Machine, Results
from tests.benchmarks.scripted_server import Reply, Request, ScriptedLlama, serving

DONE = Attempt(rival="r", task="t", kind=Kind.NEEDLE, outcome=Outcome.ANSWERED, spent=Spent(calls=6))
COUNTED = Counted(evaluated=3000, evaluating_s=20, written=300, writing_s=10)
METRICS = """\
llamacpp:prompt_tokens_total 700
llamacpp:prompt_seconds_total 2.5
llamacpp:tokens_predicted_total 1500
llamacpp:tokens_predicted_seconds_total 30
"""
FACTS = ServerFacts(model="small.gguf", context_tokens=8192)


def measured(written: int, *seconds: float) -> Measured:
    return Measured(
        attempts=tuple(replace(DONE, seconds=each) for each in seconds),
        counts=tuple(replace(COUNTED, written=written, writing_s=each / 2) for each in seconds),
    )


COMPARED = Compared(chunk=700, memory=256, gated=measured(300, 30, 32), always=measured(1300, 60, 70), free=COUNTED)


class FakeComparison:
    """Gives what it was made with, and keeps what it was asked for."""

    def __init__(self, size: Compared | NotCompared = COMPARED, failure: Exception | None = None) -> None:
        self.asked: list[ObedientOptions] = []
        self._size = size
        self._failure = failure

    async def __call__(self, options: ObedientOptions, say: Say) -> Comparison:
        """Compare nothing."""
        self.asked.append(options)
        say("on the way")
        if self._failure is not None:
            raise self._failure
        return Comparison(facts=FACTS, text_tokens=2658, sizes=(self._size,))


def found(figures: list[Figure], measure: str) -> dict[str, tuple[str, tuple[float, ...]]]:
    return {figure.subject: (figure.unit, figure.rounds) for figure in figures if figure.measure == measure}


def test_both_loops_have_a_figure_of_each_measure_with_a_value_of_each_round() -> None:
    figures = measure(2, compare=FakeComparison())

    assert found(figures, "time of a reading") == {"turnkeeper": ("s", (30, 32)), "always update": ("s", (60, 70))}
    assert found(figures, "llama-server's own time") == {
        "turnkeeper": ("s", (35, 36)),
        "always update": ("s", (50, 55)),
    }
    assert found(figures, "completions") == {"turnkeeper": ("calls", (6, 6)), "always update": ("calls", (6, 6))}
    assert found(figures, "tokens written") == {
        "turnkeeper": ("tokens", (300, 300)),
        "always update": ("tokens", (1300, 1300)),
    }
    assert found(figures, "prompt tokens evaluated") == {
        "turnkeeper": ("tokens", (3000, 3000)),
        "always update": ("tokens", (3000, 3000)),
    }
    assert len(figures) == 10
    assert {figure.benchmark for figure in figures} == {"reading"}


def test_the_table_says_once_how_long_the_text_was_and_on_which_model_it_was_read() -> None:
    (table,) = tables_of(measure(1, compare=FakeComparison()))

    assert table.caption == (
        "A text of 2,658 tokens, the answer behind 20 % of it, chunks of 700 tokens, memories of 256 tokens, "
        "small.gguf, --threads 1"
    )
    assert [line[0] for line in table.lines] == ["turnkeeper", "always update"]


def test_the_picture_shows_both_times_of_both_loops() -> None:
    (plot,) = (plot for plot in PLOTS if plot.benchmark == "reading")
    here = Machine(processor="p", cores=2, memory_gib=8, system="Linux", python="3.11.7")
    figures = tuple(measure(1, compare=FakeComparison()))
    bars = plot.bars(Results(begun="", machine=here, versions={}, load=0, figures=figures))

    assert bars is not None
    assert [(group.name, group.values, group.own) for group in bars.groups] == [
        ("turnkeeper", (31, 35.5), True),
        ("always update", (65, 52.5), False),
    ]


def test_one_size_is_read_as_often_as_is_asked_for_on_a_server_of_its_own() -> None:
    comparison, told = FakeComparison(), list[str]()
    measure(3, say=told.append, compare=comparison)

    assert comparison.asked == [replace(OPTIONS, rounds=3)]
    assert (OPTIONS.llama_url, len(OPTIONS.chunks), len(OPTIONS.memories)) == (None, 1, 1)
    assert told == ["on the way"]


def test_the_fixed_size_is_one_that_the_command_line_would_take() -> None:
    words = "--threads 1 --tokens 3000 --chunk-tokens 700 --memory-tokens 256 --rounds 1"

    assert obedient_options_of(words.split()) == OPTIONS


@pytest.mark.parametrize(
    "comparison",
    [
        FakeComparison(failure=BenchmarkFailed("it broke")),
        FakeComparison(failure=AttemptFailed("it broke")),
        FakeComparison(NotCompared(chunk=700, memory=256, why="it broke")),
    ],
)
def test_what_could_not_be_compared_has_no_figures_and_is_said(comparison: FakeComparison) -> None:
    with pytest.raises(MeasurementFailed, match="it broke"):
        measure(1, compare=comparison)


def test_where_the_server_program_is_not_installed_the_benchmark_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "packaged_model", lambda: None)
    plan = Plan(rounds=3, seconds=1, with_peers=False, say=lambda _: None)

    with pytest.raises(MeasurementFailed, match="llama-server is not installed"):
        BENCHMARKS["reading"](plan)


@pytest.mark.anyio
async def test_a_size_that_does_not_fit_the_server_is_said_and_ends_no_other() -> None:
    told: list[str] = []
    with serving(ScriptedLlama(lambda _: "", context=1024)) as url:
        options = replace(OPTIONS, llama_url=url, tokens=600, memories=(256, 512))
        result = await compare_sizes(options, told.append)

    assert [type(size) for size in result.sizes] == [NotCompared, NotCompared]
    assert [line.partition(": ")[0] for line in told] == [
        "chunks of 700, memory of 256",
        "chunks of 700, memory of 512",
    ]
    assert result.facts == ServerFacts(model="small.gguf", context_tokens=1024)
    assert result.text_tokens > 400


@pytest.mark.anyio
async def test_a_server_that_does_not_count_the_text_is_said() -> None:
    llama = ScriptedLlama(lambda _: "")

    def refusing(asked: Request) -> Reply:
        return Reply(status=503, body={}) if asked.path == "/tokenize" else llama(asked)

    with serving(refusing) as url, pytest.raises(AttemptFailed, match="/tokenize: 503"):
        await compare_sizes(replace(OPTIONS, llama_url=url), lambda _: None)


class RightAtOnce:
    """Answers right without asking anybody."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def answer(self, task: Task, meter: Meter) -> RivalAnswer:
        """Say what is accepted."""
        return RivalAnswer(text=task.answers[0])


@pytest.mark.anyio
async def test_a_server_that_is_gone_after_the_readings_is_said_and_no_traceback() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/completion":
            raise httpx.ConnectError("it is gone")
        return httpx.Response(200, text=METRICS)

    task = make_task(Kind.NEEDLE, seed=3, words=600, source=WordListText(), depth=0.5)
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        rounds = Rounds(http, "http://llama.test", rounds=1, say=lambda _: None)
        with pytest.raises(BenchmarkFailed, match="/completion: it is gone"):
            await rounds.compare(task, RightAtOnce("g"), RightAtOnce("a"), chunk=300, memory=64)
