"""`turnkeeper doctor` over a fake model server and a fake tool port: what it says, and how it ends (D2, L10)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.cli.doctor_report import is_well, lines_of_findings
from service.core.diagnosis.findings import Code, Finding
from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort
from tests.cases.rendering import render
from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cli.stored_logs import url_of
from tests.cli.whole_program import PATIENCE_S
from tests.fakes.tool_port import spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2")]

NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Result:
    """What a command left at the terminal."""

    exit_code: int
    stdout: str
    stderr: str


async def examined(*arguments: str, **environment: str) -> Result:
    """Run the command beside the servers of this loop."""
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service", "doctor", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
    )
    async with asyncio.timeout(PATIENCE_S):
        stdout, stderr = await command.communicate()
    assert command.returncode is not None  # it has ended
    return Result(command.returncode, stdout.decode(), stderr.decode())


@asynccontextmanager
async def surroundings(*tools: dict[str, object]) -> AsyncGenerator[tuple[str, ...]]:
    """A model server and a tool port that answer; gives the options that name them."""
    async with StrictLlama(lambda asked: say("Yes.")) as llama, FakePort(*tools) as port:
        yield "--llama-url", llama.url, "--tool-port-url", port.url


@pytest.mark.rules("L10")
async def test_what_the_template_can_not_do_is_told_in_words_and_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_tools(body: JsonObject) -> str:
        return render({**body, "tools": []})

    monkeypatch.setattr("tests.cases.strict_llama.render", without_tools)
    async with surroundings(spec("weather")) as options:
        result = await examined(*options, "--database-url", url_of(tmp_path / "none.db"))

    assert result.exit_code == 0
    assert f"\n  ok       There is no file {tmp_path / 'none.db'}; the first start makes it.\n" in f"\n{result.stdout}"
    assert (
        "  warning  This template does not show tools to the model, so none is called though a tool port is set. "
        "[template_without_tools]\n           -> Start llama-server with "
    ) in result.stdout
    assert " answers: 8 slots of 100000 tokens, model fake, build fake." in result.stdout
    assert not (tmp_path / "none.db").exists()


async def test_findings_are_grouped_by_part_and_counted_at_the_end(tmp_path: Path) -> None:
    async with surroundings(spec("weather"), spec("find_tool")) as options:
        result = await examined(*options, "--database-url", url_of(tmp_path / "none.db"), TURNKEEPER_PORT="0")

    lines = result.stdout.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "store",
        "llama-server",
        "tool port",
        # The fake has no /metrics, and the port lists a tool with a reserved name.
        "nothing wrong, 2 warnings",
    ]
    assert "  warning  Left out, and never shown to the model: find_tool (" in result.stdout
    assert result.exit_code == 0


async def test_a_program_gets_one_object_with_codes_that_do_not_change(tmp_path: Path) -> None:
    async with surroundings(spec("weather")) as options:
        result = await examined(*options, "--json", "--database-url", "memory:", TURNKEEPER_PORT="0")

    told = json.loads(result.stdout)
    assert result.exit_code == 0
    assert told["ok"] is True
    assert told["findings"][0] == {
        "code": "store_keeps_nothing",
        "part": "store",
        "severity": "warning",
        "says": "memory: keeps nothing: all sessions end with the process.",
        "do": "Set TURNKEEPER_DATABASE_URL to sqlite:///FOLDER/FILE, unless that is what you want.",
    }
    assert [finding["code"] for finding in told["findings"][1:]] == [
        "llama_ok",
        "llama_metrics_off",
        "template_ok",
        "tool_port_ok",
    ]


async def test_what_does_not_answer_is_named_and_ends_with_one(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, but it is long enough to be looked at" * 20)
    options = ("--llama-url", NOWHERE, "--tool-port-url", NOWHERE, "--database-url", url_of(tmp_path / "text.db"))

    result = await examined(*options, TURNKEEPER_PORT="0")
    told = json.loads((await examined(*options, "--json", TURNKEEPER_PORT="0")).stdout)

    wrong = [finding["code"] for finding in told["findings"] if finding["severity"] == "wrong"]
    assert result.exit_code == 1
    assert wrong == ["store_damaged", "llama_away", "tool_port_away"]
    assert told["ok"] is False
    assert result.stdout.endswith("\n3 wrong, no warnings\n")
    assert result.stderr == ""


async def test_the_cache_is_measured_when_it_is_asked_for(tmp_path: Path) -> None:
    async with StrictLlama(lambda asked: say("Yes.")) as llama:
        options = ("--llama-url", llama.url, "--database-url", "memory:")
        quiet = await examined(*options)
        asked = len(llama.asked)
        probed = await examined(*options, "--probe")

    assert (quiet.exit_code, asked) == (0, 0)
    assert "[llama_not_measured]" in probed.stdout


@pytest.mark.rules("G1", "D1")
async def test_a_wrong_setting_or_agents_file_is_one_line(tmp_path: Path) -> None:
    wrong = await examined("--llama-url", "nonsense")
    (tmp_path / "agents.toml").write_text('default = "nobody"')
    file = str(tmp_path / "agents.toml")
    agents = await examined("--database-url", url_of(tmp_path / "none.db"), TURNKEEPER_AGENTS_FILE=file)

    assert (wrong.exit_code, agents.exit_code) == (2, 2)
    assert wrong.stderr.count("\n") == agents.stderr.count("\n") == 1
    assert "agents.toml" in agents.stderr


def finding(code: Code) -> Finding:
    return Finding(code=code, says="It is so.", do="Do it.")


@pytest.mark.parametrize(
    ("codes", "last", "well"),
    [
        ((Code.STORE_OK,), "all is well", True),
        ((Code.STORE_OK, Code.LLAMA_TOO_OLD), "nothing wrong, 1 warning", True),
        ((Code.LLAMA_AWAY, Code.LLAMA_TOO_OLD, Code.TOOL_PORT_SLOW), "1 wrong, 2 warnings", False),
        ((Code.LLAMA_AWAY, Code.STORE_NEWER), "2 wrong, no warnings", False),
    ],
)
def test_the_last_line_says_how_much_there_is_to_do(codes: tuple[Code, ...], last: str, well: bool) -> None:
    findings = [finding(code) for code in codes]

    assert list(lines_of_findings(findings))[-1] == last
    assert is_well(findings) is well


def test_what_to_do_stands_below_what_is_so() -> None:
    assert list(lines_of_findings([finding(Code.LLAMA_AWAY)])) == [
        "llama-server",
        "  wrong    It is so. [llama_away]",
        "           -> Do it.",
        "1 wrong, no warnings",
    ]


@pytest.mark.rules("K5")
def test_what_others_named_can_not_steer_the_terminal() -> None:
    named = Finding(code=Code.LLAMA_OK, says="model \x1b[2Jbig\nall is well")

    assert list(lines_of_findings([named]))[1] == "  ok       model \\u001b[2Jbig\\nall is well"
