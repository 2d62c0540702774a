"""`GET /tools`: the list, its flags and labels, and what a registry takes."""

import re

import pytest

from service.example_port.tools import Registry
from service.port_wire.answers import DataClass, Result, to_wire
from tests.example_port.counting_tools import ConstantTool, tool
from tests.example_port.port_client import PortClient

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X5")]

FLAGS = ("needs_approval", "acts_outside", "repeatable", "idempotent", "untrusted")


async def test_the_weather_tool_has_exactly_one_string_argument(port: PortClient) -> None:
    assert (await port.specs())["get_weather"]["parameters"] == {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    }


async def test_each_tool_has_the_flags_that_fit_what_it_does(port: PortClient) -> None:
    specs = await port.specs()
    assert {name: {flag for flag in FLAGS if spec[flag]} for name, spec in specs.items()} == {
        "get_weather": {"idempotent"},
        "calculate": {"idempotent"},
        "add_note": {"acts_outside", "idempotent"},
        "list_notes": {"repeatable", "idempotent"},
        "delete_note": {"needs_approval", "acts_outside"},
        "clear_notes": {"acts_outside"},
        "current_time": {"repeatable", "idempotent"},
        "search_text": {"idempotent", "untrusted"},
    }
    assert {name for name, spec in specs.items() if spec["class"] != "public"} == {"list_notes"}


async def test_every_spec_keeps_to_the_contract(port: PortClient) -> None:
    for name, spec in (await port.specs()).items():
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
        assert spec["title"]
        assert spec["description"]
        assert spec["parameters"]["type"] == "object"
        assert all(isinstance(spec[flag], bool) for flag in FLAGS)
        assert 1_000 <= spec["timeout_ms"] <= 3_600_000
        assert spec["class"] in {"public", "internal", "secret"}


def test_two_tools_with_one_name_are_a_mistake_of_the_port() -> None:
    with pytest.raises(ValueError, match="two tools are named twin"):
        Registry([tool("twin", ConstantTool(1)), tool("twin", ConstantTool(2))])


def test_an_answer_carries_the_labels_that_it_was_given() -> None:
    answer = Result(content="x", data_class=DataClass.SECRET, untrusted=True)
    assert to_wire(answer) == {"status": "result", "class": "secret", "untrusted": True, "content": "x"}
