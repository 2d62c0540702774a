"""Tools of servers as specs of a tool port: names, order, what is left out, and what flags come of which hints."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import Tool, ToolAnnotations

from service.mcp_port.catalogue import catalogue_of, tools_answer
from service.mcp_port.config_file import ServerConfig, StdioServer, ToolRules
from service.mcp_port.listed import ServerState, ServerTools
from service.mcp_port.specs import offer
from service.mcp_port.tool_names import offered_name

pytestmark = pytest.mark.rules("X3")

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def config(name: str = "files", **more: Any) -> ServerConfig:
    return ServerConfig(name=name, transport=StdioServer(command="x", env={}), **more)


def tool(name: str = "read", **more: Any) -> Tool:
    return Tool(name=name, input_schema=SCHEMA, **more)


def spec_of(rules: ToolRules | None = None, hints: dict[str, bool] | None = None) -> dict[str, Any]:
    annotated = tool(annotations=ToolAnnotations.model_validate(hints, by_name=True)) if hints else tool()
    return dict(offer(config(rules=rules or ToolRules()), annotated, "files__read").spec)


def listed(*tools: Tool, name: str = "files", **more: Any) -> ServerTools:
    return ServerTools(name=name, state=ServerState.UP, tools=tools, **more)


def test_a_tool_without_hints_is_one_that_may_do_anything_and_whose_results_come_from_outside() -> None:
    assert spec_of() == {
        "name": "files__read",
        "description": "read",
        "parameters": SCHEMA,
        "acts_outside": True,
        "untrusted": True,
    }


@pytest.mark.parametrize(
    ("hints", "acts_outside", "idempotent"),
    [
        ({"read_only_hint": True}, True, True),
        ({"read_only_hint": True, "open_world_hint": True}, True, True),
        ({"read_only_hint": True, "open_world_hint": False}, False, True),
        ({"read_only_hint": True, "open_world_hint": False, "destructive_hint": True}, False, True),
        ({"open_world_hint": False}, True, False),
        ({"open_world_hint": False, "destructive_hint": True}, True, False),
        ({"open_world_hint": False, "destructive_hint": False}, False, False),
        ({"destructive_hint": False}, True, False),
        ({"read_only_hint": False, "open_world_hint": False, "destructive_hint": False}, False, False),
        ({"idempotent_hint": True}, True, True),
        ({"idempotent_hint": True, "destructive_hint": False, "open_world_hint": False}, False, True),
    ],
)
def test_hints_become_flags(hints: dict[str, bool], acts_outside: bool, idempotent: bool) -> None:
    spec = spec_of(hints=hints)

    assert (spec.get("acts_outside", False), spec.get("idempotent", False)) == (acts_outside, idempotent)


def test_what_the_file_says_of_a_server_wins_over_hints() -> None:
    rules = ToolRules(
        needs_approval=True,
        data_class="secret",
        untrusted=False,
        acts_outside=False,
        repeatable=True,
        idempotent=True,
        timeout_ms=5000,
    )

    assert spec_of(rules) == {
        "name": "files__read",
        "description": "read",
        "parameters": SCHEMA,
        "needs_approval": True,
        "repeatable": True,
        "idempotent": True,
        "class": "secret",
        "timeout_ms": 5000,
    }


def test_the_name_wins_over_the_first_pattern_that_says_it_and_that_over_the_server() -> None:
    rules = (
        ("*", ToolRules(untrusted=False)),
        ("re*", ToolRules(untrusted=True, repeatable=True)),
        ("read", ToolRules(needs_approval=True)),
        ("write", ToolRules(data_class="secret")),
    )
    spec = offer(
        config(rules=ToolRules(needs_approval=False, data_class="internal"), tool_rules=rules), tool(), "n"
    ).spec

    assert spec["needs_approval"] is True
    assert "untrusted" not in spec
    assert spec["repeatable"] is True
    assert spec["class"] == "internal"


def test_titles_and_descriptions_are_the_servers() -> None:
    told = offer(
        config(), tool(title="Read", description="Reads a file.", annotations=ToolAnnotations(title="No")), "n"
    )
    hinted = offer(config(), tool(annotations=ToolAnnotations(title="Read a file")), "n")

    assert (told.spec["title"], told.spec["description"]) == ("Read", "Reads a file.")
    assert (hinted.spec["title"], hinted.spec["description"]) == ("Read a file", "Read a file")


def test_the_order_is_that_of_the_file_and_of_names_whatever_order_servers_answer_in() -> None:
    configs = [config("b"), config("a")]
    one = catalogue_of(configs, [listed(tool("z"), tool("y"), name="b"), listed(tool("x"), name="a")])
    other = catalogue_of(configs, [listed(tool("x"), name="a"), listed(tool("y"), tool("z"), name="b")])

    assert list(one.tools) == list(other.tools) == ["b__y", "b__z", "a__x"]


@pytest.mark.parametrize(
    ("allow", "deny", "offered"),
    [
        (None, (), ["delete", "read", "read_all"]),
        (("read*",), (), ["read", "read_all"]),
        (("read",), (), ["read"]),
        (None, ("read_*", "delete"), ["read"]),
        (("*",), ("delete",), ["read", "read_all"]),
        ((), (), []),
    ],
)
def test_only_what_is_allowed_and_not_denied_is_offered(
    allow: tuple[str, ...] | None, deny: tuple[str, ...], offered: list[str]
) -> None:
    catalogue = catalogue_of([config(allow=allow, deny=deny)], [listed(tool("read"), tool("read_all"), tool("delete"))])

    assert [one.tool for one in catalogue.tools.values()] == offered


def test_of_two_tools_that_would_have_one_name_the_second_is_left_out_and_told() -> None:
    catalogue = catalogue_of([config()], [listed(tool("a/b"), tool("a.b"), tool("c"))])

    assert {name: one.tool for name, one in catalogue.tools.items()} == {"files__a_b": "a.b", "files__c": "c"}
    assert catalogue.left_out == ["files: 'a/b' is left out, since files__a_b is another tool's name already"]


def test_the_answer_says_how_each_server_is() -> None:
    servers = [
        listed(tool()),
        ServerTools(name="web", state=ServerState.DOWN, said="can't be reached"),
        ServerTools(name="slow", state=ServerState.STARTING, said="is being started"),
    ]

    told = tools_answer(catalogue_of([config(), config("web")], servers), servers)

    assert told["servers"] == [
        {"name": "files", "state": "up"},
        {"name": "web", "state": "down", "said": "can't be reached"},
        {"name": "slow", "state": "starting", "said": "is being started"},
    ]
    assert told["left_out"] == []


@given(st.from_regex(r"[a-z]([a-z0-9-]){0,30}", fullmatch=True), st.text(min_size=1, max_size=200))
def test_every_name_is_one_that_a_tool_may_have(server: str, name: str) -> None:
    offered = offered_name(server, name)

    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", offered)
    assert offered.startswith(f"{server}__")
    assert offered == offered_name(server, name)


def test_two_long_names_that_begin_alike_stay_two() -> None:
    one, other = (offered_name("files", "x" * 100 + end) for end in "ab")

    assert one != other
    assert len(one) == len(other) == 64
