"""`docs/howto/write-a-tool-port.md` is executed, so that it can't go wrong in silence."""

import asyncio
import json
import re
import shlex
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import MISSING, fields
from pathlib import Path

import httpx
import pytest

from service.example_port.app import create_app
from service.example_port.tools import Tool
from service.port_wire.answers import DataClass, Denied, Failed, PendingApproval, Result, to_wire
from service.port_wire.incoming import Approval, CallRequest
from tests.example_port.port_client import BOUND_S, PortClient, connected

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X5")]

HOWTO = (Path(__file__).parents[2] / "docs/howto/write-a-tool-port.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """Give the only code block of this language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", HOWTO, re.DOTALL | re.MULTILINE)
    return text


def table(heading: str) -> dict[str, str]:
    """Give the first column and the second of the table under this header, without the back-ticks."""
    _, _, below = HOWTO.partition(f"\n{heading}\n")
    rows = below.partition("\n\n")[0].splitlines()[1:]
    assert rows
    cells = [[cell.strip().replace("`", "") for cell in row.split("|")[1:3]] for row in rows]
    return {row[0]: row[1] for row in cells}


@asynccontextmanager
async def dice_port(folder: Path, *before: str) -> AsyncGenerator[PortClient]:
    """Save the port of the howto after the code `before`, start it in a bare Python, end it."""
    script = folder / "dice_port.py"
    script.write_text("\n".join([*before, block("python")]), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-S", str(script), "0"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        async with httpx.AsyncClient(base_url=url, timeout=BOUND_S, trust_env=False) as http:
            yield PortClient(http)
    finally:
        process.terminate()
        await process.communicate()


async def test_the_short_port_lists_runs_fails_and_runs_each_key_once(tmp_path: Path) -> None:
    async with asyncio.timeout(3 * BOUND_S), dice_port(tmp_path) as port:
        assert (await port.specs())["roll_die"]["parameters"]["required"] == ["sides"]
        many = {"sides": 10**18}
        rolled = await port.call("roll_die", many, key='"ses_1/1"')
        assert rolled["status"] == "result"
        assert 1 <= rolled["content"] <= 10**18
        assert await port.call("roll_die", many, key='"ses_1/1"') == rolled
        assert await port.call("roll_die", many, key='"ses_1/2"') != rolled
        assert await port.call("roll_die", many) != await port.call("roll_die", many)
        assert (await port.call("roll_die", {"sides": "six"}, key="3"))["status"] == "failed"
        assert "roll_die" in (await port.call("roll_dice", {}, key="4"))["message"]
        assert (await port.http.get("/nowhere")).status_code == 404
        assert (await port.http.post("/calls", content=b"{}")).status_code == 404


async def test_the_short_port_runs_a_key_once_for_many_at_once(tmp_path: Path) -> None:
    async with asyncio.timeout(3 * BOUND_S), dice_port(tmp_path, MEETING_DICE) as port:
        rolls = await asyncio.gather(*(port.call("roll_die", {"sides": 6}, key="k") for _ in range(10)))
    assert rolls == [{"status": "result", "content": 1}] * 10


def test_the_short_port_is_short() -> None:
    assert len([line for line in block("python").splitlines() if line.strip()]) <= 40


def test_every_field_of_a_spec_is_explained_with_its_default() -> None:
    defaults = {field.name: field.default for field in fields(Tool) if field.name != "run"}
    defaults["class"] = defaults.pop("data_class")
    required = {name for name, default in defaults.items() if default is MISSING} - {"title"}
    expected = {name: json.dumps(default) for name, default in defaults.items() if default is not MISSING}
    assert table("| field | default | what it does |") == (
        expected | {"title": "none"} | dict.fromkeys(required, "required")
    )


def test_every_field_of_a_call_is_explained() -> None:
    explained = table("| in the body | what it is |")
    assert {name for row in explained for name in row.split(", ")} == set(CallRequest.model_fields)
    assert all(f'"{name}"' in explained["approval"] for name in Approval.model_fields)


def test_the_example_of_a_call_is_one() -> None:
    assert CallRequest.model_validate_json(block("json")).tool == "roll_die"


def test_every_answer_is_shown_with_its_fields() -> None:
    shown = [json.loads(row.replace('"..."', "...").replace("...", '"..."')) for row in ANSWER_ROWS]
    answers = (Result(content=""), Failed(message=""), Denied(reason=""), PendingApproval(reason=""))
    wires = [to_wire(answer) for answer in answers]
    assert [(row["status"], set(row)) for row in shown] == [(wire["status"], set(wire)) for wire in wires]


def test_every_class_is_named() -> None:
    assert all(f"`{label}`" in HOWTO for label in DataClass)


async def test_the_curl_lines_work_on_the_example_port() -> None:
    async with connected(create_app()) as port:
        answers = [await _curl(port.http, line) for line in block("sh").splitlines()]
    assert "tools" in answers[0].json()
    assert answers[1].text == answers[2].text == '{"status":"result","content":"Saved as note 2."}'
    assert answers[1].text in HOWTO
    assert answers[3].json()["status"] == "failed"


async def _curl(http: httpx.AsyncClient, line: str) -> httpx.Response:
    """Do what a curl line says, as far as ours go: -s, an address, -H, -d."""
    command, silent, url, *options = shlex.split(line)
    assert (command, silent) == ("curl", "-s")
    assert url.startswith("http://127.0.0.1:8090/")
    headers: dict[str, str] = {}
    body: str | None = None
    for option, value in zip(options[::2], options[1::2], strict=True):
        assert option in {"-H", "-d"}
        if option == "-d":
            body = value
        else:
            name, _, content = value.partition(": ")
            headers[name] = content
    return await http.request("GET" if body is None else "POST", url, headers=headers, content=body)


# A die which shows 1, 2, 3..., and waits for a second one to be rolled at the same time: none may come.
MEETING_DICE = """
import itertools, random, threading
meeting, rolled = threading.Barrier(2), itertools.count(1)
def randint(low, high):
    number = next(rolled)
    try:
        meeting.wait(0.5)
    except threading.BrokenBarrierError:
        pass
    return number
random.randint = randint
"""

ANSWER_ROWS = list(table("| answer | what the model reads |"))
