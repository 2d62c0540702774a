"""A session's tools: what the prompt shows, what a call does, and what find_tool answers (X3, X4)."""

from __future__ import annotations

import json

import pytest

from service.core.action import Action
from service.core.baseline import ToolMode
from service.core.json_types import JsonObject
from service.core.local_tools import FOUND_TOOLS, LOCAL_NAMES, local_tools, mode_for
from service.core.records import ResultStatus
from service.core.result_text import CallOutcome
from service.core.tool_port import ToolSpec
from service.core.tool_schemas import schema_fault
from service.core.tool_specs import decode_specs, encode_specs
from service.core.toolset import CheckedCall, Toolset

pytestmark = pytest.mark.rules("X3", "X4")

CITY: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def spec(name: str, description: str = "") -> ToolSpec:
    return ToolSpec(name=name, description=description, parameters=CITY)


WEATHER = spec("weather", "Tells the weather of a city.")
MAIL = spec("send_mail", "Sends a letter to somebody.")
DIRECT = Toolset([WEATHER, MAIL, *local_tools(ToolMode.DIRECT)])
DISCOVER = Toolset([WEATHER, MAIL, *local_tools(ToolMode.DISCOVER)], mode=ToolMode.DISCOVER)


def shown(toolset: Toolset) -> list[str]:
    return [tool["function"]["name"] for tool in toolset.prompt_specs]


def checked(name: str, arguments: str, toolset: Toolset = DISCOVER) -> CheckedCall:
    outcome = toolset.check(name, arguments)
    assert isinstance(outcome, CheckedCall), outcome
    return outcome


def refused(name: str, arguments: str, toolset: Toolset = DISCOVER) -> CallOutcome:
    outcome = toolset.check(name, arguments)
    assert isinstance(outcome, CallOutcome)
    return outcome


def test_direct_shows_every_tool_and_discover_only_our_own() -> None:
    assert shown(DIRECT) == ["weather", "send_mail", "read_result"]
    assert shown(DISCOVER) == ["find_tool", "call_tool", "read_result"]


def test_our_own_tools_have_usable_schemas_and_reserved_names() -> None:
    for mode in ToolMode:
        for tool in local_tools(mode):
            assert schema_fault(tool.parameters) is None
            assert tool.name in LOCAL_NAMES


def test_our_own_tools_are_kept_with_the_sessions_specs() -> None:
    kept = decode_specs(encode_specs(DISCOVER))
    assert tuple(kept) == tuple(DISCOVER)
    assert shown(Toolset(kept, mode=ToolMode.DISCOVER)) == shown(DISCOVER)


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"name": "weather", "arguments": {"city": "Paris"}}', {"city": "Paris"}),
        ('{"arguments": {"city": "Paris"}, "name": "weather"}', {"city": "Paris"}),
        # Many models write the inner object as a text.
        ('{"name": "weather", "arguments": "{\\"city\\": \\"Paris\\"}"}', {"city": "Paris"}),
    ],
)
def test_call_tool_is_the_tool_inside(arguments: str, sent: JsonObject) -> None:
    call = checked("call_tool", arguments)
    assert (call.action.name, call.spec, call.arguments) == ("weather", WEATHER, sent)


def test_a_tool_that_is_called_by_its_name_runs_though_the_prompt_does_not_show_it() -> None:
    assert checked("weather", '{"city": "Paris"}').action == Action("weather", '{"city": "Paris"}')


@pytest.mark.rules("T10")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"name": "weather", "arguments": {}}', "do not fit the tool's schema"),
        ('{"name": "weather"}', "do not fit the tool's schema"),
        ('{"name": "weather", "city": "Paris"}', "do not fit the tool's schema"),
        ('{"name": "call_tool", "arguments": {"name": "weather"}}', "it can't call itself"),
        ('{"name": "weather", "arguments": "Paris"}', "are not JSON"),
        ('{"name": "weather", "arguments": ["Paris"]}', "do not fit"),
        ('{"name": "weather", "arguments": {"city": "a", "city": "b"}}', 'have the key "city" twice'),
        ('{"name": "weather", "name": "send_mail", "arguments": {"city": "a"}}', 'have the key "name" twice'),
        ('{"name": 5, "arguments": {}}', "do not fit"),
        ('["weather"]', "must be a JSON object"),
        ("{", "are not JSON"),
        ("", "are empty"),
        ('{"name": "weather", "arguments": ' + "[" * 5000 + "]" * 5000 + "}", "nested"),
    ],
)
def test_a_call_tool_that_can_not_be_run_is_told_why(arguments: str, said: str) -> None:
    outcome = refused("call_tool", arguments)
    assert (outcome.status, said in outcome.text) == (ResultStatus.BAD_ARGUMENTS, True), outcome.text


@pytest.mark.rules("T10")
@pytest.mark.parametrize(("name", "arguments"), [("nothing", "{}"), ("call_tool", '{"name": "nothing"}')])
def test_an_unknown_tool_of_many_is_answered_with_the_way_to_find_one(name: str, arguments: str) -> None:
    outcome = refused(name, arguments)
    assert outcome.status is ResultStatus.UNKNOWN_TOOL
    assert outcome.text == (
        'There is no tool named "nothing". The tools are: find_tool, call_tool, read_result. '
        "find_tool tells which others there are, and call_tool runs them."
    )


def test_call_tool_is_unknown_where_all_tools_are_in_the_prompt_but_what_is_in_it_runs() -> None:
    assert refused("call_tool", "{}", DIRECT).status is ResultStatus.UNKNOWN_TOOL
    assert checked("call_tool", '{"name": "weather", "arguments": {"city": "Paris"}}', DIRECT).spec is WEATHER


def test_find_tool_gives_specs_as_the_prompt_would_show_them() -> None:
    outcome = DISCOVER.found("what is the weather like")
    assert outcome.status is ResultStatus.OK
    assert json.loads(outcome.text)[0] == {
        "name": "weather",
        "description": "Tells the weather of a city.",
        "parameters": CITY,
    }


def test_find_tool_gives_no_more_than_a_few_and_never_our_own() -> None:
    many = [spec(f"list_things_{number}", "Lists things, finds a tool, reads a result.") for number in range(50)]
    toolset = Toolset([*many, *local_tools(ToolMode.DISCOVER)], mode=ToolMode.DISCOVER)
    found = [tool["name"] for tool in json.loads(toolset.found("find a tool that lists things and reads results").text)]
    assert len(found) == FOUND_TOOLS
    assert not LOCAL_NAMES & set(found)


def test_find_tool_without_a_hit_says_what_to_do() -> None:
    outcome = DISCOVER.found("xyzzy")
    assert (outcome.status, outcome.text) == (
        ResultStatus.OK,
        "No tool fits these words. Say in other words what the tool should do.",
    )


@pytest.mark.parametrize(
    ("asked", "tokens", "mode"),
    [
        (None, 4096, ToolMode.DIRECT),
        (None, 4097, ToolMode.DISCOVER),
        (ToolMode.DIRECT, 4097, ToolMode.DIRECT),
        (ToolMode.DISCOVER, 1, ToolMode.DISCOVER),
    ],
)
def test_the_mode_is_the_one_that_was_asked_for_or_follows_the_size(
    asked: ToolMode | None, tokens: int, mode: ToolMode
) -> None:
    assert mode_for(asked, tokens, 4096) is mode
