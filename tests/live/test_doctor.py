"""`turnkeeper doctor` on a real llama-server and the example port: what it sees is what they are (D2, L10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.core.diagnosis.findings import Code, Severity
from tests.cli.examined_parts import codes, examine_with, said
from tests.live.llama_program import llama_command
from tests.live.processes import TEMPLATES, free_port, running

pytestmark = [pytest.mark.anyio, pytest.mark.live, pytest.mark.rules("D2")]


async def test_the_demos_server_and_port_have_nothing_bad_and_nothing_is_generated(
    demo_llama: str, tool_port_url: str, tmp_path: Path
) -> None:
    found = await examine_with(tmp_path, llama_url=demo_llama, tool_port_url=tool_port_url)

    bad = {code for code in codes(found) if code.severity is not Severity.OK}
    assert bad <= {Code.CONTEXT_SMALL}
    assert {Code.LLAMA_OK, Code.TEMPLATE_OK, Code.TOOL_PORT_OK} <= codes(found)
    assert "offers 8 tools" in said(Code.TOOL_PORT_OK, found)


@pytest.mark.rules("L10")
async def test_what_the_rewriting_of_a_turn_costs_is_counted_by_the_server(
    thinking_llama: str, tool_port_url: str, tmp_path: Path
) -> None:
    found = await examine_with(tmp_path, llama_url=thinking_llama, tool_port_url=tool_port_url)

    # All but the question is written anew without the thoughts.
    assert "In a trial turn of 714 tokens that was 696" in said(Code.TEMPLATE_REWRITES_TURNS, found)


@pytest.mark.parametrize(("mebibytes", "code"), [("64", Code.LLAMA_RAM_CACHE_ON), ("0", Code.LLAMA_RAM_CACHE_OFF)])
async def test_the_cache_in_memory_is_seen_by_three_prompts(
    folder: Path, tmp_path: Path, mebibytes: str, code: Code
) -> None:
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = llama_command(
        port, TEMPLATES / "chatml-tools-wrapped.jinja", "--ctx-size", "4096", "--cache-ram", mebibytes
    )
    with running(command, f"{address}/health", folder / f"llama-{port}.log", {}):
        found = await examine_with(tmp_path, probe=True, llama_url=address)

    assert code in codes(found)
