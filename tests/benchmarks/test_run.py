"""A whole run against scripted servers, and the command line before it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.reading.attempts import Outcome
from benchmarks.reading.failures import BenchmarkFailed
from benchmarks.reading.options import Options, options_of
from benchmarks.reading.report import JSON_FILE, MARKDOWN_FILE
from benchmarks.reading.run import Ground, run
from benchmarks.reading.texts import BIBLE_PACKAGE, VerseText, WordListText, bible_text
from tests.benchmarks.scripted_server import Reply, Request, Script, ScriptedLlama, serving

pytestmark = [pytest.mark.anyio]

ROOT = Path(__file__).parent.parent.parent
RIVALS = ["gated, exit never", "always update", "map-reduce", "full text", "BM25 top 6", "gated, exit asked"]
SIZES = ["--tasks", "6", "--tokens", "3000", "--chunk-tokens", "500", "--memory-budget", "64", "--source", "words"]


def ground(told: list[str]) -> Ground:
    return Ground(source=WordListText(), ranking=lambda _, passages, count: list(range(count)), say=told.append)


def options(folder: Path, url: str, *more: str) -> Options:
    return options_of(["--llama-url", url, "--out", str(folder), *SIZES, *more])


def finding_nothing() -> Script:
    return ScriptedLlama(lambda _: "not found", context=2048)


def service(request: Request) -> Reply:
    usage = {"prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 1}
    match request.method, request.path:
        case "GET", "/livez":
            return Reply(body={})
        case "POST", "/readings":
            return Reply(status=202, body={}, headers={"Location": "/readings/rdg_1"})
        case "GET", "/readings/rdg_1":
            return Reply(body={"state": "finished", "outcome": "not_found", "calls": 6, "usage": usage})
        case _:
            return Reply(body=b"")


async def test_all_rivals_answer_all_tasks_and_the_figures_are_written(tmp_path: Path) -> None:
    told: list[str] = []
    with serving(finding_nothing()) as url, serving(service) as turnkeeper:
        attempts = await run(options(tmp_path, url, "--turnkeeper-url", turnkeeper), ground(told))

    assert [each.rival for each in attempts] == RIVALS * 6
    assert {each.rival for each in attempts if each.outcome is Outcome.DOES_NOT_FIT} == {"full text"}
    # A model that finds nothing is right where there is nothing.
    assert {each.kind for each in attempts if each.right} == {"absent"}
    assert len(told) == len(attempts)
    figures = json.loads((tmp_path / JSON_FILE).read_text(encoding="utf-8"))
    assert figures["settings"]["model"] == "small.gguf"
    assert "3000 asked for" in figures["settings"]["tokens"]
    assert (tmp_path / MARKDOWN_FILE).exists()


async def test_without_a_service_the_gated_rows_stand_there_as_not_run(tmp_path: Path) -> None:
    with serving(finding_nothing()) as url:
        attempts = await run(options(tmp_path, url, "--tasks", "1"), ground([]))

    assert [each.rival for each in attempts] == RIVALS
    assert [each.rival for each in attempts if each.outcome is Outcome.NOT_RUN] == [RIVALS[0], RIVALS[-1]]


async def test_a_service_without_readings_fails_its_own_rows_alone(tmp_path: Path) -> None:
    def old(request: Request) -> Reply:
        return Reply(body={}, status=200 if request.path == "/livez" else 404)

    with serving(finding_nothing()) as url, serving(old) as turnkeeper:
        attempts = await run(options(tmp_path, url, "--tasks", "1", "--turnkeeper-url", turnkeeper), ground([]))

    assert [each.rival for each in attempts if each.outcome is Outcome.FAILED] == [RIVALS[0], RIVALS[-1]]
    assert len(attempts) == len(RIVALS)


async def test_nobody_at_the_address_of_llama_server_is_said_at_once(tmp_path: Path) -> None:
    with serving(finding_nothing()) as url:
        pass

    with pytest.raises(BenchmarkFailed, match=f"no llama-server answers at {url}: "):
        await run(options(tmp_path, url), ground([]))


async def test_another_server_at_the_address_of_llama_server_is_said_at_once(tmp_path: Path) -> None:
    with (
        serving(lambda _: Reply(body={"hello": 1})) as url,
        pytest.raises(BenchmarkFailed, match=f"what answers at {url} is no llama-server"),
    ):
        await run(options(tmp_path, url), ground([]))


async def test_nobody_at_the_address_of_the_service_is_said_at_once(tmp_path: Path) -> None:
    with serving(service) as turnkeeper:
        pass

    with serving(finding_nothing()) as url, pytest.raises(BenchmarkFailed, match="no Turnkeeper answers at"):
        await run(options(tmp_path, url, "--turnkeeper-url", turnkeeper), ground([]))


@pytest.mark.parametrize("url", ["http://192.0.2.1:8080", "http://llama.example:8080", "http://0.0.0.0:1", "nonsense"])
@pytest.mark.parametrize("option", ["--llama-url", "--turnkeeper-url"])
def test_an_address_of_another_machine_needs_leave(option: str, url: str) -> None:
    with pytest.raises(BenchmarkFailed, match="is not an address of this machine; --allow-remote"):
        options_of([option, url])

    allowed = options_of([option, url, "--allow-remote"])
    assert url in (allowed.llama_url, allowed.turnkeeper_url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "http://127.9.9.9"])
def test_addresses_of_this_machine_are_taken(url: str) -> None:
    assert options_of(["--llama-url", url]).llama_url == url


@pytest.mark.parametrize(
    "arguments",
    [
        ["--tasks", "0"],
        ["--chunk-tokens", "127"],
        ["--tasks", "601"],
        ["--tokens", "499"],
        ["--tokens", "many"],
        ["--kinds", "hay"],
    ],
)
def test_numbers_out_of_their_bounds_and_unknown_kinds_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options_of(arguments)

    assert f"argument {arguments[0]}" in capsys.readouterr().err


def test_a_missing_package_of_text_is_named_with_the_way_around_it() -> None:
    with pytest.raises(BenchmarkFailed, match=r"no-such-package, which carries the text, .*--source words needs none"):
        bible_text("no-such-package")


def test_a_package_without_the_verses_is_named() -> None:
    with pytest.raises(BenchmarkFailed, match="the package anyio does not hold the verses"):
        bible_text("anyio")


def test_the_bible_of_the_package_gives_whole_verses_from_a_place_by_chance_on() -> None:
    if find_spec("bible") is None:
        pytest.skip(f"{BIBLE_PACKAGE} is not installed")
    bible = bible_text()
    verses = bible.sentences(random.Random(1), 2000)

    assert verses == bible_text().sentences(random.Random(1), 2000)
    assert verses != bible.sentences(random.Random(2), 2000)
    assert 2000 <= len(" ".join(verses).split()) < 2100


def test_verses_go_on_from_the_first_one_after_the_last() -> None:
    text = VerseText("three", ("One a.", "Two b.", "Three c."))

    assert text.sentences(random.Random(1), 12)[:4] in (
        ["One a.", "Two b.", "Three c.", "One a."],
        ["Two b.", "Three c.", "One a.", "Two b."],
        ["Three c.", "One a.", "Two b.", "Three c."],
    )


def test_a_mistake_on_the_command_line_is_one_line_and_no_traceback() -> None:
    command = [sys.executable, "-m", "benchmarks.reading", "--llama-url", "http://192.0.2.1"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr == (
        "error: http://192.0.2.1 is not an address of this machine; --allow-remote lets others be asked\n"
    )
