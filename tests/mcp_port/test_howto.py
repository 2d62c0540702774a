"""`docs/howto/use-mcp-servers.md` says what the code does: its file is read, and its tables are whole."""

from __future__ import annotations

import re
from pathlib import Path

from service.mcp_port.bounded_lines import MAX_LINE_BYTES
from service.mcp_port.config_file import DEFAULT_START_MS, DEFAULT_TIMEOUT_MS, HttpServer, ToolRules, read_config
from service.mcp_port.environment import NEEDED
from service.mcp_port.supervisor import FIRST_WAIT_S, LONGEST_WAIT_S

PAGE = (Path(__file__).parents[2] / "docs/howto/use-mcp-servers.md").read_text(encoding="utf-8")
WINDOWS = {"SYSTEMROOT", "TEMP", "TMP", "PATHEXT", "COMSPEC", "APPDATA", "LOCALAPPDATA", "USERPROFILE"}


def test_the_file_of_the_page_can_be_used() -> None:
    (text,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)

    files, time, issues = read_config(text, {"ISSUES_TOKEN": "mine"})

    assert (files.name, time.name, issues.name) == ("files", "time", "issues")
    assert files.deny == ("move_file",)
    assert files.tool_rules == (("write_file", ToolRules(needs_approval=True)),)
    assert isinstance(issues.transport, HttpServer)
    assert issues.transport.headers == {"Authorization": "Bearer mine"}


def test_each_member_of_ours_is_in_the_table() -> None:
    table = PAGE.partition("| ours, for a server |")[2].partition("\n\n")[0]
    ours = {name.replace("data_class", "class") for name in ToolRules.__slots__}

    assert set(re.findall(r"^\| (.*?) \|", table, re.MULTILINE)) >= {f"`{name}`" for name in ours}
    assert all(f"`{name}`" in table for name in ("allow", "deny", "tools", "start_timeout_ms"))
    assert f"{DEFAULT_TIMEOUT_MS:,} if nothing is said" in table
    assert f"{DEFAULT_START_MS:,} if nothing is said" in table


def test_the_variables_that_a_server_gets_are_named() -> None:
    sentence = PAGE.partition("of the port's own only ")[2].partition("(on Windows")[0]

    assert set(re.findall(r"`(\w+)`", sentence)) == set(NEEDED) - WINDOWS


def test_the_bounds_of_the_page_are_those_of_the_code() -> None:
    assert f"more than {MAX_LINE_BYTES // 1024**2} MiB" in PAGE
    assert f"after {FIRST_WAIT_S:g} s, 2 s, 4 s … up to {LONGEST_WAIT_S:g} s" in PAGE
