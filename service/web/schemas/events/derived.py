"""Values of the core as JSON schemas: what `codec` writes of a dataclass, member by member, so that neither drifts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, NewType, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from service.codec import JSON_NAME, LEFT_OUT_BY_DEFAULT
from service.core.baseline import TemplateProfile
from service.core.completion_events import WaitReason
from service.core.json_types import JsonObject
from service.core.signals import Waiting
from service.web.schemas.events.words import words_of
from service.web.schemas.reference import REF

_PLAIN: dict[Any, JsonObject] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
}

# Plain strings in the core, so that an older reader takes what a later version says.
_NARROWER: dict[tuple[type, str], Any] = {
    (Waiting, "reason"): WaitReason,
    (TemplateProfile, "call_id"): Literal["any", "nine"],
    (TemplateProfile, "thinking_off"): Literal["none", "tail", "head"],
}


class Schemas:
    """Collects the schemas of classes under their names, with all that they refer to."""

    def __init__(self) -> None:
        self.found: dict[str, JsonObject] = {}

    def members(self, shape: type) -> tuple[JsonObject, list[str]]:
        """Give the properties of a class as JSON, and which of them are always there."""
        words = words_of(shape)
        may_lack = LEFT_OUT_BY_DEFAULT.get(shape, frozenset())
        properties: JsonObject = {}
        required: list[str] = []
        for attribute, hint in _fields_of(shape):
            name = JSON_NAME.get(attribute, attribute)
            properties[name] = {**self._schema_of(hint), "description": words.of_field(name)}
            if attribute not in may_lack:
                required.append(name)
        return properties, required

    def _schema_of(self, hint: Any) -> JsonObject:
        if isinstance(hint, NewType):
            return self._schema_of(hint.__supertype__)
        origin = get_origin(hint)
        if origin in (Union, UnionType):
            return {"anyOf": [self._schema_of(kind) for kind in get_args(hint)]}
        if origin is tuple:
            return {"type": "array", "items": self._schema_of(get_args(hint)[0])}
        if origin is Literal:
            return {"type": "string", "enum": list(get_args(hint))}
        plain = _PLAIN.get(origin or hint)
        return dict(plain) if plain is not None else self._named(hint)

    def _named(self, shape: Any) -> JsonObject:
        name: str = shape.__name__
        if name not in self.found:
            self.found[name] = _listed(shape) if issubclass(shape, Enum) else self._object(shape)
        return {"$ref": REF.format(name)}

    def _object(self, shape: type) -> JsonObject:
        properties, required = self.members(shape)
        return {
            "title": shape.__name__,
            "description": words_of(shape).says,
            "type": "object",
            "properties": properties,
            "required": required,
        }


def _listed(words: type[Enum]) -> JsonObject:
    # As pydantic has it, since answers name the same enums.
    return TypeAdapter(words).json_schema()


def _fields_of(shape: type) -> Iterator[tuple[str, Any]]:
    for attribute, hint in get_type_hints(shape).items():
        if get_origin(hint) is not ClassVar:
            yield attribute, _NARROWER.get((shape, attribute), hint)
