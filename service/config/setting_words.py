"""What may stand in a setting and what is there by default, in words (D1)."""

from __future__ import annotations

from functools import cache
from typing import Any

from service.config.settings import CONFIG_FILE, Settings
from service.config.toml_form import literal

_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "array": "list of texts",
    "object": "table of texts",
}


def described(name: str) -> str:
    """Say what a setting is, with its unit."""
    text = Settings.model_fields[name].description
    assert text is not None, f"{name} has no description"  # tests/config/test_catalogue.py
    return text


def kind_of(name: str) -> str:
    """Name the kind of a setting's value, and its range where it is a number."""
    return ", ".join(filter(None, [_kind(_schema(name)), range_of(name)]))


def range_of(name: str) -> str:
    """Say from where to where a number may go; empty for what is no number."""
    schema = _schema(name)
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None:
        return ""
    return f"at least {least:,}" if most is None else f"{least:,} to {most:,}"


def default_of(name: str) -> str:
    """Give the default as TOML writes it, or a word where there is none to write."""
    field = Settings.model_fields[name]
    if field.default_factory is not None:
        return "a file of this user"
    return "none" if field.default is None else literal(field.default)


def _kind(schema: dict[str, Any]) -> str:
    return "path" if schema.get("format") == "path" else _KINDS[schema["type"]]


def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = settings_schema()["properties"][name]
    return schema


@cache
def settings_schema() -> dict[str, Any]:
    """Give the JSON schema of `turnkeeper.toml`: what an editor needs to help with it."""
    schema = Settings.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": CONFIG_FILE,
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _of_file(one) for name, one in schema["properties"].items()},
    }


def _of_file(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a file can't say: TOML has no null."""
    (known,) = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    joined = {**schema, **known}
    has_default = joined.get("default") is not None
    left_out = ("anyOf", "title", "writeOnly") if has_default else ("anyOf", "title", "writeOnly", "default")
    return {name: value for name, value in joined.items() if name not in left_out}
