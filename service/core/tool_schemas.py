"""Which JSON schemas a tool may have for its arguments, and how they are compiled (X3)."""

from __future__ import annotations

from typing import cast

import jsonschema_rs

from service.core.json_types import JsonObject, JsonValue
from service.core.json_walk import is_nested_deeper, walk
from service.core.visible import visible

MAX_SCHEMA_LEVELS = 64
"""Objects and arrays inside one another in a schema; an object inside an object takes two."""

# How a reference to a part of the schema itself begins. Of `$ref`, "#" and "#anchor" are such too, but llama-server
# refuses every request with them: one tool would end all turns of its session.
_REFERENCES = (("$ref", "#/"), ("$dynamicRef", "#"), ("$recursiveRef", "#"))
_SHOWN_CHARACTERS = 200


def compiled(parameters: JsonObject) -> jsonschema_rs.Validator:
    """Compile a schema; nothing is ever fetched for it.

    Raises:
        ValueError: it is no valid JSON schema.
    """
    return jsonschema_rs.validator_for(parameters, offline=True)


def schema_fault(parameters: JsonObject) -> str | None:
    """Say what is wrong with a schema, as the predicate of a sentence; None when it can be used."""
    if is_nested_deeper(parameters, MAX_SCHEMA_LEVELS):
        return f"is nested more than {MAX_SCHEMA_LEVELS} levels deep"
    target = _foreign_reference(parameters)
    if target is not None:
        return f"refers to something that is not a part of it like #/$defs/x: {visible(target, _SHOWN_CHARACTERS)}"
    try:
        compiled(parameters)
    except ValueError as error:
        fault = str(getattr(error, "message", error))
        return f"is not a valid JSON schema: {visible(fault, _SHOWN_CHARACTERS)}"
    allowed: JsonValue = parameters.get("type", "object")
    if "object" not in ([allowed] if isinstance(allowed, str) else allowed):
        return 'must allow an object ("type": "object"), which is what arguments are'
    return None


def _foreign_reference(parameters: JsonObject) -> str | None:
    # In `examples` and `const` too, where a reference is data: what is data depends on the draft.
    for _, item in walk(parameters):
        if isinstance(item, dict):
            for keyword, beginning in _REFERENCES:
                target: JsonValue = cast(JsonObject, item).get(keyword)
                if isinstance(target, str) and not target.startswith(beginning):
                    return target
    return None
