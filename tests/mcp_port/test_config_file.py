"""The file of servers: in the form that MCP clients share, with members of ours, and with faults told in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from service.mcp_port.config_file import ConfigError, HttpServer, StdioServer, ToolRules, load_config, read_config

VARIABLES = {"TOKEN": "of-the-server", "FOLDER": "/srv/notes"}


def read(**servers: Any) -> Any:
    return read_config(json.dumps({"mcpServers": servers, "globalShortcut": "of another program"}), VARIABLES)


def test_a_program_and_an_address_are_read_as_other_clients_write_them() -> None:
    files, web = read(
        files={"command": "npx", "args": ["-y", "files", "${FOLDER}"], "env": {"KEY": "${TOKEN}"}, "cwd": "/srv"},
        web={"type": "streamable-http", "url": "https://web.test/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    )

    assert files.transport == StdioServer(
        command="npx", args=("-y", "files", "/srv/notes"), env={"KEY": "of-the-server"}, cwd="/srv"
    )
    assert web.transport == HttpServer(url="https://web.test/mcp", headers={"Authorization": "Bearer of-the-server"})


def test_what_other_clients_write_for_themselves_is_passed_over() -> None:
    (one,) = read(one={"command": "x", "type": "stdio", "autoApprove": ["*"], "alwaysAllow": [], "timeout": 60})

    assert one.transport == StdioServer(command="x", env={})


def test_a_server_that_is_disabled_is_left_out() -> None:
    assert [server.name for server in read(one={"command": "x"}, two={"command": "y", "disabled": True})] == ["one"]


def test_servers_keep_the_order_of_the_file() -> None:
    assert [server.name for server in read(b={"command": "x"}, a={"command": "y"})] == ["b", "a"]


def test_our_own_members_hold_for_the_server_and_for_its_tools() -> None:
    (one,) = read(
        one={
            "command": "x",
            "allow": ["read_*"],
            "deny": ["read_secret"],
            "start_timeout_ms": 5000,
            "untrusted": False,
            "timeout_ms": 2000,
            "tools": {"read_*": {"acts_outside": False, "class": "internal"}, "write": {"needs_approval": True}},
        }
    )

    assert (one.allow, one.deny, one.start_timeout_s) == (("read_*",), ("read_secret",), 5)
    assert one.rules == ToolRules(untrusted=False, timeout_ms=2000)
    assert one.tool_rules == (
        ("read_*", ToolRules(acts_outside=False, data_class="internal")),
        ("write", ToolRules(needs_approval=True)),
    )


def test_a_variable_may_have_another_value_for_when_it_is_missing() -> None:
    (one,) = read(one={"command": "${PROGRAM:-npx}", "args": ["${TOKEN:-none}", "${EMPTY:-}"]})

    assert one.transport == StdioServer(command="npx", args=("of-the-server", ""), env={})


def test_a_variable_may_be_named_as_other_clients_name_it() -> None:
    (one,) = read(one={"url": "https://${env:HOST:-web.test}/mcp", "headers": {"A": "Bearer ${env:TOKEN}"}})

    assert one.transport == HttpServer(url="https://web.test/mcp", headers={"A": "Bearer of-the-server"})


@pytest.mark.parametrize(
    ("server", "fault"),
    [
        ({}, 'mcpServers.one needs either a "command" or a "url"'),
        ({"command": "x", "url": "http://y"}, 'mcpServers.one needs either a "command" or a "url"'),
        ([], "mcpServers.one should be an object"),
        (
            {"command": "x", "alow": []},
            "mcpServers.one.alow is no member that is known here; look for a slip of the pen",
        ),
        ({"command": 1}, "mcpServers.one.command: Input should be a valid string"),
        ({"command": "x", "args": "y"}, "mcpServers.one.args: Input should be a valid list"),
        (
            {"command": "x", "tools": {"y": {"class": "private"}}},
            "mcpServers.one.tools.y.class: Input should be 'public', 'internal' or 'secret'",
        ),
        (
            {"command": "x", "tools": {"y": {"untrustd": True}}},
            "mcpServers.one.tools.y.untrustd is no member that is known here; look for a slip of the pen",
        ),
        (
            {"command": "x", "timeout_ms": 10},
            "mcpServers.one.timeout_ms: Input should be greater than or equal to 1000",
        ),
        ({"command": "x", "env": {"A": "${NOT_SET}"}}, "mcpServers.one names the variable NOT_SET, which is not set"),
        ({"command": "x", "env": {"A": "${env:NOT_SET}"}}, "mcpServers.one names the variable NOT_SET, which is not"),
        (
            {"command": "x", "env": {"A": "${TOKEN} ${input:token}"}},
            "mcpServers.one has ${input:token}, which only the program that it was written for can fill in; write",
        ),
        ({"command": "x", "cwd": "${workspaceFolder}"}, "mcpServers.one names the variable workspaceFolder, which is"),
        ({"serverUrl": "https://y/mcp"}, 'mcpServers.one.serverUrl is called "url" here'),
        ({"command": "x", "envFile": ".env"}, "mcpServers.one.envFile is not read; name its variables in"),
        ({"command": "x", "enabled": False}, 'mcpServers.one.enabled is called "disabled" here, with the other'),
        ({"url": "ftp://y"}, "mcpServers.one.url should be an address"),
        ({"url": "http://y", "headers": {"A": "b\nc"}}, "mcpServers.one.headers.A should be ASCII without line breaks"),
        ({"type": "sse", "url": "http://y/sse"}, 'mcpServers.one has the type "sse", the old transport; use'),
        ({"type": "carrier-pigeon", "url": "http://y"}, 'mcpServers.one.type should be "stdio" or "http"'),
        ({"type": "http", "command": "x"}, 'mcpServers.one has a "command", and the type of a server with a "url"'),
        ({"type": "stdio", "url": "http://y"}, "mcpServers.one.url should be an address"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_fault_is_one_line_that_says_where_it_is(server: object, fault: str) -> None:
    with pytest.raises(ConfigError) as told:
        read(one=server)

    assert str(told.value).startswith(fault)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", ["", "a__b", "a_", "with space", "ü", "x" * 33, "a/b"])
def test_a_servers_name_begins_names_of_tools(name: str) -> None:
    with pytest.raises(ConfigError, match=f"mcpServers.{name}: a server's name has 1 to 32 letters"):
        read(**{name: {"command": "x"}})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "this is no JSON: "),
        ("[]", 'it needs a member "mcpServers"'),
        ("{}", 'it needs a member "mcpServers"'),
        ('{"mcpServers": []}', 'it needs a member "mcpServers"'),
        ("[" * 100_000, "this is no JSON: "),
        (
            '{"mcpServers": {"one": {"command": "x"}, "one": {"command": "y"}}}',
            "'one' stands twice in one object, and only one of both would count",
        ),
    ],
)
def test_a_file_that_is_none_is_told(text: str, fault: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError) as told:
        load_config(file, {})

    assert str(told.value).startswith(f"{file}: {fault}")


def test_a_file_may_begin_with_the_mark_of_some_editors(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(b'\xef\xbb\xbf{"mcpServers": {"one": {"command": "x"}}}')

    assert [server.name for server in load_config(file, {})] == ["one"]


def test_a_file_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xe4")

    for name, reason in (("none", "No such file or directory"), ("latin", "it is no UTF-8")):
        with pytest.raises(ConfigError, match=f"{name} can't be read: {reason}"):
            load_config(tmp_path / name, {})
