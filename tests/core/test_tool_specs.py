"""The port's list of tools: what can be offered, what can't and why, and how specs are stored and shown."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.core.labels import DataClass
from service.core.local_tools import LOCAL_NAMES
from service.core.tool_port import LeftOutTool, ToolSpec
from service.core.tool_specs import (
    MAX_SPEC_BYTES,
    check_specs,
    decode_specs,
    encode_specs,
    hash_specs,
    prompt_form,
)

# A loaded machine is no reason to fail.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

pytestmark = pytest.mark.rules("X3")

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
MEMBERS = (
    *("name", "title", "description", "parameters", "needs_approval", "acts_outside", "repeatable"),
    *("idempotent", "timeout_ms", "class", "untrusted", "$ref", "type"),
)


def listed(**members: Any) -> dict[str, Any]:
    return {"name": "weather", "description": "Tell the weather.", "parameters": SCHEMA, **members}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in listed().items() if name != key}


def reason_for(tool: dict[str, Any]) -> str:
    specs, left_out = check_specs([tool])
    assert specs == ()
    assert len(left_out) == 1
    return left_out[0].reason


def nested_schema(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {"not": schema}
    return schema


def test_a_tool_with_the_least_it_needs_has_the_documented_defaults() -> None:
    assert check_specs([listed()]) == (
        (
            ToolSpec(
                name="weather",
                description="Tell the weather.",
                parameters=SCHEMA,
                title=None,
                needs_approval=False,
                acts_outside=False,
                repeatable=False,
                idempotent=False,
                timeout_ms=120_000,
                data_class=DataClass.PUBLIC,
                untrusted=False,
            ),
        ),
        (),
    )


def test_every_member_of_a_tool_is_taken_over() -> None:
    members = {
        "title": "Weather",
        "needs_approval": True,
        "acts_outside": True,
        "repeatable": True,
        "idempotent": True,
        "timeout_ms": 1_000,
        "class": "secret",
        "untrusted": True,
    }
    specs, left_out = check_specs([listed(**members, icon="passed over")])

    assert left_out == ()
    assert specs == (
        ToolSpec(
            name="weather",
            description="Tell the weather.",
            parameters=SCHEMA,
            title="Weather",
            needs_approval=True,
            acts_outside=True,
            repeatable=True,
            idempotent=True,
            timeout_ms=1_000,
            data_class=DataClass.SECRET,
            untrusted=True,
        ),
    )


def test_tools_keep_the_order_of_the_port_whatever_is_left_out_between_them() -> None:
    names = ["zeta", "alpha", "call_tool", "mid"]
    specs, left_out = check_specs([listed(name=name) for name in names])

    assert [spec.name for spec in specs] == ["zeta", "alpha", "mid"]
    assert [tool.name for tool in left_out] == ["call_tool"]


@pytest.mark.parametrize("name", sorted(LOCAL_NAMES))
def test_a_name_that_the_service_uses_itself_is_left_out(name: str) -> None:
    assert "reserved" in reason_for(listed(name=name))


def test_the_reserved_names_are_those_of_the_local_tools() -> None:
    assert {"find_tool", "call_tool", "read_result", "handoff_to"} == LOCAL_NAMES


def test_of_two_tools_with_one_name_the_first_counts() -> None:
    specs, left_out = check_specs([listed(description="first"), listed(description="second")])

    assert [spec.description for spec in specs] == ["first"]
    assert left_out == (LeftOutTool(name="weather", reason="an earlier tool of the list has the same name"),)


def test_the_first_of_a_name_counts_also_when_it_is_left_out_itself() -> None:
    specs, left_out = check_specs([listed(untrusted="no"), listed()])

    assert specs == ()
    assert [tool.name for tool in left_out] == ["weather", "weather"]


@pytest.mark.parametrize("name", ["a", "A-b_9", "x" * 64])
def test_a_name_of_letters_digits_and_two_marks_is_offered(name: str) -> None:
    specs, _ = check_specs([listed(name=name)])

    assert [spec.name for spec in specs] == [name]


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "a.b", "wetter_ä", "a\n", "٣"])
def test_a_name_of_another_form_is_left_out(name: str) -> None:
    assert "1 to 64 characters" in reason_for(listed(name=name))


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (listed(name="two\nlines"), "two\\nlines"),
        (listed(name="x" * 70), "x" * 64 + "…"),
        (listed(name=["weather"]), "(tool 1 of the list)"),
        (listed(name=""), "(tool 1 of the list)"),
        (without("name"), "(tool 1 of the list)"),
    ],
)
def test_a_left_out_tool_is_named_on_one_short_line(tool: dict[str, Any], name: str) -> None:
    _, left_out = check_specs([tool])

    assert [entry.name for entry in left_out] == [name]


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        (without("name"), "name must be a string"),
        (listed(name={"a": 1}), "name must be a string"),
        (without("description"), "description is missing"),
        (listed(description=None), "description must be a string"),
        (without("parameters"), "parameters is missing"),
        (listed(parameters=True), "parameters must be an object"),
        (listed(parameters=[]), "parameters must be an object"),
        (listed(title=7), "title must be a string"),
        (listed(needs_approval="true"), "needs_approval must be true or false"),
        (listed(acts_outside=1), "acts_outside must be true or false"),
        (listed(repeatable=None), "repeatable must be true or false"),
        (listed(idempotent=[]), "idempotent must be true or false"),
        (listed(untrusted=0), "untrusted must be true or false"),
        (listed(timeout_ms=999), "timeout_ms must be an integer from 1000 to 3600000"),
        (listed(timeout_ms=3_600_001), "timeout_ms must be an integer from 1000 to 3600000"),
        (listed(timeout_ms=2000.0), "timeout_ms must be an integer from 1000 to 3600000"),
        (listed(timeout_ms=True), "timeout_ms must be an integer from 1000 to 3600000"),
        (listed(timeout_ms="2000"), "timeout_ms must be an integer from 1000 to 3600000"),
        ({**listed(), "class": "Public"}, "class must be one of public, internal, secret"),
        ({**listed(), "class": ["public"]}, "class must be one of public, internal, secret"),
        (listed(description="half \ud800"), "it holds text or a number that JSON can't hold"),
        (listed(parameters={"maximum": float("inf")}), "it holds text or a number that JSON can't hold"),
    ],
)
def test_a_member_of_a_wrong_type_leaves_the_tool_out_with_the_reason(tool: dict[str, Any], reason: str) -> None:
    assert reason_for(tool) == reason


@pytest.mark.parametrize("timeout_ms", [1_000, 3_600_000])
def test_the_bounds_of_a_timeout_are_allowed(timeout_ms: int) -> None:
    specs, _ = check_specs([listed(timeout_ms=timeout_ms)])

    assert [spec.timeout_ms for spec in specs] == [timeout_ms]


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "colour"},
        {"properties": {"a": 5}},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"$ref": 5},
        {"$schema": "http://example.com/own-dialect"},
    ],
)
def test_what_is_no_valid_schema_is_left_out(parameters: dict[str, Any]) -> None:
    assert reason_for(listed(parameters=parameters)).startswith("parameters is not a valid JSON schema: ")


@pytest.mark.rules("K4")
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$recursiveRef"])
@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:9/schema", "https://example.com/s#/a", "file:///etc/passwd", "other.json", "//x"]
)
def test_a_schema_that_refers_outside_itself_is_refused(keyword: str, target: str) -> None:
    parameters = {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {keyword: target}]}}}

    assert reason_for(listed(parameters=parameters)) == (
        f"parameters refers to something that is not a part of it like #/$defs/x: {target}"
    )


@pytest.mark.parametrize("target", ["#", "#anchor"])
def test_a_reference_that_llama_server_refuses_is_refused_here(target: str) -> None:
    parameters = {"$anchor": "anchor", "properties": {"again": {"$ref": target}}}

    assert "refers to something that is not a part of it" in reason_for(listed(parameters=parameters))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
        {"type": ["object", "null"]},
        {"$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}}, "$ref": "#/$defs/node"},
        {"$defs": {"any": {"$dynamicAnchor": "any"}}, "properties": {"a": {"$dynamicRef": "#any"}}},
        {"properties": {"$ref": {"type": "string"}}},
        nested_schema(64),
    ],
)
def test_a_schema_that_stands_for_itself_is_offered(parameters: dict[str, Any]) -> None:
    specs, left_out = check_specs([listed(parameters=parameters)])

    assert left_out == ()
    assert [spec.parameters for spec in specs] == [parameters]


@pytest.mark.parametrize("parameters", [{"type": "string"}, {"type": ["array", "null"]}])
def test_a_schema_that_allows_no_object_is_left_out(parameters: dict[str, Any]) -> None:
    assert "must allow an object" in reason_for(listed(parameters=parameters))


@pytest.mark.parametrize(
    ("levels", "words"), [(65, "nested more than 64 levels"), (100_000, "parameters is nested too deeply")]
)
def test_a_schema_that_is_nested_absurdly_is_left_out(levels: int, words: str) -> None:
    assert words in reason_for(listed(parameters=nested_schema(levels)))


def test_a_spec_may_have_as_many_bytes_as_the_bound_and_no_more() -> None:
    spare = MAX_SPEC_BYTES - (len(encode_specs(check_specs([listed(description="")])[0])) - len("[]"))
    specs, _ = check_specs([listed(description="x" * spare)])

    assert len(specs) == 1
    assert (
        reason_for(listed(description="x" * (spare + 1)))
        == f"it has {MAX_SPEC_BYTES + 1} bytes, more than {MAX_SPEC_BYTES}"
    )


def test_a_reason_is_short_whatever_the_schema_holds() -> None:
    for parameters in ({"type": "\n" * 5000}, {"$ref": "http://x/" + "y" * 5000}):
        reason = reason_for(listed(parameters=parameters))
        assert len(reason) < 600
        assert "\n" not in reason


def test_a_stored_list_is_read_back_as_it_was() -> None:
    specs, _ = check_specs(
        [listed(), listed(name="other", title="Größe \u2028 📏", untrusted=True, **{"class": "internal"})]
    )

    assert decode_specs(encode_specs(specs)) == specs
    assert decode_specs(encode_specs(())) == ()


def test_a_stored_list_is_compact_utf_8_with_sorted_members() -> None:
    specs, _ = check_specs([listed(description="Grüße")])

    assert encode_specs(specs).decode() == (
        '[{"acts_outside":false,"class":"public","description":"Grüße","idempotent":false,"name":"weather",'
        '"needs_approval":false,"parameters":{"type":"object","properties":{"city":{"type":"string"}},'
        '"required":["city"]},"repeatable":false,"timeout_ms":120000,"title":null,"untrusted":false}]'
    )


def test_a_stored_schema_keeps_the_order_in_which_the_model_is_to_write_arguments() -> None:
    parameters: dict[str, Any] = {"properties": {"thought": {}, "answer": {}, "certain": {}}}
    specs, _ = check_specs([listed(parameters=parameters)])
    (stored,) = decode_specs(encode_specs(specs))

    assert list(stored.parameters["properties"]) == ["thought", "answer", "certain"]


def test_a_list_is_named_by_the_sha_256_of_its_bytes() -> None:
    encoded = encode_specs(check_specs([listed()])[0])

    assert hash_specs(encoded) == hashlib.sha256(encoded).hexdigest()
    assert hash_specs(encoded) != hash_specs(encode_specs(check_specs([listed(title="W")])[0]))


@pytest.mark.rules("P3")
def test_the_prompt_shows_name_description_and_schema_alone() -> None:
    (spec,), _ = check_specs([listed(title="Weather", needs_approval=True)])

    assert json.dumps(prompt_form(spec)) == json.dumps(
        {
            "type": "function",
            "function": {"name": "weather", "description": "Tell the weather.", "parameters": SCHEMA},
        }
    )


@UNHURRIED
@given(st.lists(st.dictionaries(st.sampled_from(MEMBERS), ANYTHING).map(lambda drawn: {**listed(), **drawn})))
def test_any_list_of_objects_is_sorted_into_offered_and_left_out(tools: list[dict[str, Any]]) -> None:
    specs, left_out = check_specs(tools)

    assert len(specs) + len(left_out) == len(tools)
    assert decode_specs(encode_specs(specs)) == specs


@UNHURRIED
@given(ANYTHING, ANYTHING)
def test_any_schema_is_offered_or_left_out(inside: Any, also: Any) -> None:
    parameters = {"type": "object", "properties": {"a": inside}, "anyOf": also}
    specs, left_out = check_specs([listed(parameters=parameters)])

    assert len(specs) + len(left_out) == 1
