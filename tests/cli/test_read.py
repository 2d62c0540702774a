"""D2: `turnkeeper read` asks a service that runs: what it prints where, its exit codes, and what it says of trouble."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import structlog
from typer.testing import CliRunner, Result

from service.cli.app import app
from service.cli.logs import be_silent
from service.core.errors import ErrorKind, ModelFailure
from service.core.ids import LOCAL_OWNER
from service.readings.requests import ReadingView
from tests.cli.found_parts import SIZES, Gate, book, reads
from tests.cli.reading_service import reading_service
from tests.readings.reader_llama import ReaderLlama
from tests.readings.reading_house import ReadingHouse
from tests.web.serving import BOUND_S, within_bound

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2")]

QUESTION = ["--query", "Where is the key?"]
IN_PARTS = ["--chunk-tokens", SIZES["chunk_tokens"], "--memory-budget", SIZES["memory_budget"]]
TALE = ("", "key", "", "", "key", "key")


@pytest.fixture(autouse=True)
def no_log_lines() -> Iterator[None]:
    """Keep the service's own log lines out of what the command prints: here both are in one process."""
    before = structlog.get_config()
    be_silent()
    yield
    structlog.configure(**before)


def turnkeeper(*arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin, env=env, catch_exceptions=False)


@dataclass
class Reader:
    """A service, and who asks it."""

    house: ReadingHouse
    url: str

    async def read(self, *arguments: str, stdin: bytes = b"") -> Result:
        asked = ("read", *IN_PARTS, *arguments, "--url", self.url)
        async with asyncio.timeout(BOUND_S):
            return await asyncio.to_thread(turnkeeper, *asked, stdin=stdin)

    async def only_reading(self) -> ReadingView:
        (view,), _ = await self.house.readings.page(LOCAL_OWNER, limit=10, after=None)
        return view


@asynccontextmanager
async def reader(llama: ReaderLlama | None = None) -> AsyncGenerator[Reader]:
    house = ReadingHouse(llama or ReaderLlama(reads))
    async with reading_service(house) as served:
        yield Reader(house, str(served.http.base_url))


def said(result: Result) -> list[str]:
    """Give the lines on standard error, without the name that they begin with."""
    assert "Traceback" not in result.stderr
    assert all(line.startswith("turnkeeper: ") for line in result.stderr.splitlines())
    return [line.removeprefix("turnkeeper: ") for line in result.stderr.splitlines()]


def content_of(path: str) -> bytes:
    return Path(path).read_bytes()


async def test_the_answer_alone_is_printed_and_what_it_comes_from_is_said_beside_it(tmp_path: Path) -> None:
    async with reader() as service:
        result = await service.read(book(tmp_path, *TALE), *QUESTION)

    assert (result.exit_code, result.stdout) == (0, "Answer: The key is in the drawer.\n")
    bounds = _bounds(tmp_path / "book.txt")
    assert said(result) == [
        "0 of 6 chunks · 0 used",
        "the answer comes from 3 chunks:",
        f"  book.txt: chunk 2 (bytes {bounds[1]} to {bounds[2]}), chunks 5 to 6 (bytes {bounds[4]} to {bounds[6]})",
        f"3 of 6 chunks used, 7 calls of the model, reading {(await service.only_reading()).id}",
    ]


def _bounds(path: Path) -> list[int]:
    """Give where each part of a book begins, and its end."""
    text = path.read_bytes()
    starts = [at for at in range(len(text)) if text.startswith(b"Part ", at)]
    return [*starts, len(text)]


async def test_without_a_terminal_nothing_steers_one(tmp_path: Path) -> None:
    async with reader() as service:
        result = await service.read(book(tmp_path, *TALE), *QUESTION)

    assert not {"\x1b", "\r", "\x07"} & set(result.output)


@pytest.mark.rules("R6")
async def test_several_files_are_read_at_level_2_which_is_said(tmp_path: Path) -> None:
    files = [book(tmp_path, "", "key", name="a.txt"), book(tmp_path, "", name="b.txt"), book(tmp_path, "key")]
    async with reader() as service:
        result = await service.read(*files, *QUESTION)
        view = await service.only_reading()

    first, *_, origin, of_a, of_book, counts = said(result)
    assert (result.exit_code, view.options.level) == (0, 2)
    assert first == "3 files are read at level 2: each by itself, and then what was kept of each"
    assert origin == "the answer comes from 2 chunks:"
    assert of_a.startswith("  a.txt: chunk 2 (bytes ")
    assert of_book.startswith("  book.txt: chunk 1 (bytes 0 to ")
    assert counts.startswith("4 of 6 chunks used, ")


async def test_files_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    files = [book(tmp_path / "one", "key"), book(tmp_path / "two", "key"), book(tmp_path, "", name="other.txt")]
    async with reader() as service:
        await service.read(*files, *QUESTION)
        view = await service.only_reading()

    assert [document.name for document in view.documents] == ["(1) book.txt", "(2) book.txt", "other.txt"]


@pytest.mark.rules("R10")
async def test_not_found_has_an_exit_code_of_its_own_and_prints_nothing(tmp_path: Path) -> None:
    async with reader() as service:
        result = await service.read(book(tmp_path, "", ""), *QUESTION)

    assert (result.exit_code, result.stdout) == (3, "")
    assert said(result)[1:] == [
        "not found: no part of the text was of use for the question",
        f"0 of 2 chunks used, 2 calls of the model, reading {(await service.only_reading()).id}",
    ]


async def test_a_reading_that_fails_says_why_with_nothing_hidden_in_it(tmp_path: Path) -> None:
    failure = ModelFailure(ErrorKind.CONTEXT_FULL, "too \x1b[31m long")
    async with reader(ReaderLlama(lambda _: failure)) as service:
        result = await service.read(book(tmp_path, "key"), *QUESTION)

    assert (result.exit_code, result.stdout) == (1, "")
    assert "the reading failed: context_full: too \\u001b[31m long" in said(result)


async def test_a_reading_that_somebody_cancels_is_said(tmp_path: Path) -> None:
    gate = Gate(after=1)
    async with reader(ReaderLlama(reads, before_each=gate)) as service:
        reading = asyncio.create_task(service.read(book(tmp_path, *TALE), *QUESTION))
        await within_bound(gate.asked)
        view = await service.only_reading()
        await service.house.readings.cancel(view.id, LOCAL_OWNER)
        result = await reading

    assert (result.exit_code, result.stdout) == (1, "")
    assert "the reading was cancelled" in said(result)


async def test_as_json_the_reading_is_printed(tmp_path: Path) -> None:
    async with reader(ReaderLlama(reads, answers=lambda _: "In the \x7f\x9b drawer.")) as service:
        result = await service.read(book(tmp_path, *TALE), *QUESTION, "--json", "--quiet")
        nothing = await service.read(book(tmp_path, ""), *QUESTION, "--json", "--quiet")

    printed = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert (printed["answer"], printed["chunks_used"]) == ("In the \x7f\x9b drawer.", 3)
    assert not {"\x7f", "\x9b"} & set(result.stdout)
    assert (nothing.exit_code, json.loads(nothing.stdout)["outcome"]) == (3, "not_found")


async def test_quiet_says_nothing_beside_the_answer(tmp_path: Path) -> None:
    files = [book(tmp_path, *TALE), book(tmp_path, "", name="b.txt")]
    async with reader() as service:
        result = await service.read(*files, *QUESTION, "--quiet")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "Answer: The key is in the drawer.\n", "")


async def test_without_progress_only_the_end_is_said(tmp_path: Path) -> None:
    async with reader() as service:
        result = await service.read(book(tmp_path, *TALE), *QUESTION, "--no-progress")

    assert said(result)[0] == "the answer comes from 3 chunks:"


@pytest.mark.rules("K5")
async def test_the_answer_keeps_its_lines_and_letters_and_steers_no_terminal(tmp_path: Path) -> None:
    answer = "Dür\tLöwe\r\nمی\u200cروم \U0001f469\u200d\U0001f680\n\x1b]0;owned\x07\x9b31m \u202edne\u2028."
    async with reader(ReaderLlama(reads, answers=lambda _: answer)) as service:
        result = await service.read(book(tmp_path, "key"), *QUESTION)

    assert result.stdout == (
        "Dür\tLöwe\nمی\u200cروم \U0001f469\u200d\U0001f680\n\\u001b]0;owned\\u0007\\u009b31m \\u202edne\\u2028.\n"
    )


async def test_names_of_files_steer_no_terminal(tmp_path: Path) -> None:
    async with reader() as service:
        result = await service.read(book(tmp_path, "key", name="a\x1b[2Jb.txt"), *QUESTION)

    assert "  a\N{REPLACEMENT CHARACTER}[2Jb.txt: chunk 1 (bytes 0 to " in "\n".join(said(result))


async def test_a_dash_reads_standard_input(tmp_path: Path) -> None:
    text = content_of(book(tmp_path, *TALE))
    async with reader() as service:
        result = await service.read("-", *QUESTION, stdin=text)
        view = await service.only_reading()

    (document,) = view.documents
    assert result.exit_code == 0
    assert (document.name, document.media_type, document.bytes) == ("standard input", "text/plain", len(text))


async def test_an_upload_that_is_refused_is_said_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\0\0")
    async with reader() as service:
        refused = await service.read(str(path), *QUESTION)
        too_small = await service.read(book(tmp_path, "key"), *QUESTION, "--memory-budget", "4000")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert said(refused) == ['"a.zip" is a ZIP archive; unpack it and send the documents in it.']
    (line,) = said(too_small)
    assert line.startswith("The context of 4096 tokens has 0 tokens for a chunk")


async def test_where_no_service_answers_it_says_how_to_start_one(free_port: int, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port}"

    result = await asyncio.to_thread(turnkeeper, "read", book(tmp_path, "key"), *QUESTION, "--url", f"{url}/")

    assert (result.exit_code, result.stdout) == (1, "")
    assert said(result) == [
        f"no service answers at {url}; start one with turnkeeper serve, or say where it is with --url"
    ]


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
@pytest.mark.rules("D1")
async def test_the_address_is_that_of_the_settings(host: str, shown: str, free_port: int, tmp_path: Path) -> None:
    settings = {"TURNKEEPER_HOST": host, "TURNKEEPER_PORT": str(free_port)}

    result = await asyncio.to_thread(turnkeeper, "read", book(tmp_path, "key"), *QUESTION, env=settings)

    assert f"no service answers at http://{shown}:{free_port};" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.txt"], "none.txt can't be read: No such file or directory"),
        (["."], ". can't be read: Is a directory"),
        (["a\x1b.txt"], "a\\u001b.txt can't be read: No such file or directory"),
        (["-", "-", "--level", "2"], "standard input can be read once only"),
        (["a.txt", "b.txt", "--level", "1"], "several files are read at level 2; leave --level out"),
        (["-", "--url", "ftp://here"], "--url must be an address like http://127.0.0.1:8000"),
        (["-", "--url", "http://here:99999"], "--url must be an address like http://127.0.0.1:8000"),
    ],
)
def test_wrong_use_is_told_in_one_line(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    result = turnkeeper("read", *arguments, *QUESTION)

    assert (result.exit_code, result.stdout, said(result)) == (2, "", [says])


@pytest.mark.parametrize(
    "option", ["--level=3", "--exit=soon", "--memory-budget=15", "--chunk-tokens=1", "--parallel=0"]
)
def test_a_value_that_is_out_of_bounds_is_wrong_use(option: str) -> None:
    assert turnkeeper("read", "-", *QUESTION, option).exit_code == 2


@pytest.mark.parametrize("host", ["a b", "[1:2", "a\u2028b", "xn--", "a" * 300, "-", "user:word@127.0.0.1:1"])
def test_an_address_that_is_none_is_no_traceback(host: str) -> None:
    result = turnkeeper("read", "-", *QUESTION, "--url", f"http://{host}")

    (line,) = said(result)
    assert (result.exit_code in (1, 2), result.stdout) == (True, "")
    assert line.isprintable()


def test_a_question_that_is_no_text_is_wrong_use() -> None:
    result = turnkeeper("read", "-", "--query", "Where \udcff?")

    assert (result.exit_code, said(result)) == (2, ["--query is no UTF-8"])


def test_a_port_that_is_any_free_one_is_no_address() -> None:
    result = turnkeeper("read", "-", *QUESTION, env={"TURNKEEPER_PORT": "0"})

    assert (result.exit_code, said(result)) == (2, ["the setting port is 0, which is any free one; say --url"])


async def test_what_is_asked_for_reaches_the_service(tmp_path: Path) -> None:
    asked = ["--level", "2", "--exit", "measured", "--parallel", "3", "--memory-budget", "32", "--chunk-tokens", "140"]
    async with reader() as service:
        await service.read(book(tmp_path, "key"), *QUESTION, *asked)
        view = await service.only_reading()

    options = view.options
    assert (options.level, options.exit, options.parallel) == (2, "measured", 3)
    assert (options.memory_budget, options.chunk_tokens) == (32, 140)
    assert view.query == "Where is the key?"
