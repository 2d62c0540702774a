"""The tools that a port offers: checked once, kept by hash, shown in the prompt (X3).

Above: the session that takes a snapshot. Below: `tool_schemas.py`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import TypeVar, cast

from service.core.json_types import JsonObject, JsonValue
from service.core.labels import DataClass
from service.core.local_tools import LOCAL_NAMES
from service.core.tool_port import LeftOutTool, ToolSpec
from service.core.tool_schemas import schema_fault
from service.core.visible import visible

MAX_SPEC_BYTES = 65_536
"""UTF-8 of one encoded spec. Every request carries it, and a context holds a few thousand tokens."""

TIMEOUT_MS = range(1_000, 3_600_001)
"""What a tool may ask for as the bound of a call."""

DEFAULT_TIMEOUT_MS = 120_000

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHOWN_NAME = 64
_Value = TypeVar("_Value")


class _Unfit(Exception):
    """A tool that can't be offered; the text says why."""


def check_specs(listed: Sequence[JsonObject]) -> tuple[tuple[ToolSpec, ...], tuple[LeftOutTool, ...]]:
    """Sort the port's list into tools that can be offered, in the port's order, and those that can't (X3)."""
    specs: list[ToolSpec] = []
    left_out: list[LeftOutTool] = []
    taken: set[str] = set()
    for place, members in enumerate(listed, start=1):
        try:
            specs.append(_checked_spec(members, taken))
        except _Unfit as unfit:
            left_out.append(LeftOutTool(name=_shown_name(members, place), reason=str(unfit)))
    return tuple(specs), tuple(left_out)


def encode_specs(specs: Iterable[ToolSpec]) -> bytes:
    """Encode a list of specs as the bytes that are stored and hashed.

    The members of a spec are sorted, without white space. A schema keeps the port's order: llama-server makes
    the model write the arguments in the order in which the schema names them.
    """
    return _encode([dict(sorted(_members(spec).items())) for spec in specs])


def decode_specs(encoded: bytes) -> tuple[ToolSpec, ...]:
    """Decode what `encode_specs` wrote; it was checked before it was stored and isn't checked again."""
    return tuple(_known_spec(members) for members in cast(list[JsonObject], json.loads(encoded)))


def hash_specs(encoded: bytes) -> str:
    """Name an encoded list: the hex SHA-256 of its bytes."""
    return hashlib.sha256(encoded).hexdigest()


def prompt_form(spec: ToolSpec) -> JsonObject:
    """Give a spec as the model sees it; flags, times and labels are none of its business."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _checked_spec(members: JsonObject, taken: set[str]) -> ToolSpec:
    name = _name(members, taken)
    # The first one counts, also when something else is wrong with it: no later one takes its place unseen.
    taken.add(name)
    spec = ToolSpec(
        name=name,
        description=_typed(members, "description", str, "a string"),
        parameters=_typed(members, "parameters", dict[str, JsonValue], "an object"),
        title=_typed(members, "title", str, "a string") if "title" in members else None,
        needs_approval=_flag(members, "needs_approval"),
        acts_outside=_flag(members, "acts_outside"),
        repeatable=_flag(members, "repeatable"),
        idempotent=_flag(members, "idempotent"),
        timeout_ms=_timeout(members),
        data_class=_data_class(members),
        untrusted=_flag(members, "untrusted"),
    )
    _check_extent(spec)
    fault = schema_fault(spec.parameters)
    if fault is not None:
        raise _Unfit(f"parameters {fault}")
    return spec


def _name(members: JsonObject, taken: set[str]) -> str:
    name: JsonValue = members.get("name")
    if not isinstance(name, str):
        raise _Unfit("name must be a string")
    if _NAME.fullmatch(name) is None:
        raise _Unfit("a name has 1 to 64 characters of A-Z, a-z, 0-9, _ and -")
    if name in LOCAL_NAMES:
        raise _Unfit("this name is reserved for a tool of the service")
    if name in taken:
        raise _Unfit("an earlier tool of the list has the same name")
    return name


def _shown_name(members: JsonObject, place: int) -> str:
    name: JsonValue = members.get("name")
    return visible(name, _SHOWN_NAME) if isinstance(name, str) and name else f"(tool {place} of the list)"


def _typed(members: JsonObject, key: str, expected: type[_Value], words: str) -> _Value:
    value: JsonValue = members.get(key)
    # `dict[str, …]` is a name for the type checker; at run time its origin is what counts.
    if not isinstance(value, getattr(expected, "__origin__", expected)):
        raise _Unfit(f"{key} must be {words}" if key in members else f"{key} is missing")
    return cast(_Value, value)


def _flag(members: JsonObject, key: str) -> bool:
    return _typed(members, key, bool, "true or false") if key in members else False


def _timeout(members: JsonObject) -> int:
    value: JsonValue = members.get("timeout_ms", DEFAULT_TIMEOUT_MS)
    if not isinstance(value, int) or value not in TIMEOUT_MS:
        raise _Unfit(f"timeout_ms must be an integer from {TIMEOUT_MS.start} to {TIMEOUT_MS.stop - 1}")
    return value


def _data_class(members: JsonObject) -> DataClass:
    value: JsonValue = members.get("class", DataClass.PUBLIC)
    if value not in list(DataClass):
        raise _Unfit(f"class must be one of {', '.join(DataClass)}")
    return DataClass(value)


def _check_extent(spec: ToolSpec) -> None:
    try:
        size = len(_encode(_members(spec)))
    except RecursionError as error:
        raise _Unfit("parameters is nested too deeply") from error
    except ValueError as error:
        # A lone surrogate, NaN or infinity: Python reads them, JSON in UTF-8 can't hold them.
        raise _Unfit("it holds text or a number that JSON can't hold") from error
    if size > MAX_SPEC_BYTES:
        raise _Unfit(f"it has {size} bytes, more than {MAX_SPEC_BYTES}")


def _members(spec: ToolSpec) -> JsonObject:
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "parameters": spec.parameters,
        "needs_approval": spec.needs_approval,
        "acts_outside": spec.acts_outside,
        "repeatable": spec.repeatable,
        "idempotent": spec.idempotent,
        "timeout_ms": spec.timeout_ms,
        "class": spec.data_class,
        "untrusted": spec.untrusted,
        **({"local": True} if spec.local else {}),
    }


def _known_spec(members: JsonObject) -> ToolSpec:
    return ToolSpec(
        name=members["name"],
        title=members["title"],
        description=members["description"],
        parameters=members["parameters"],
        needs_approval=members["needs_approval"],
        acts_outside=members["acts_outside"],
        repeatable=members["repeatable"],
        idempotent=members["idempotent"],
        timeout_ms=members["timeout_ms"],
        data_class=DataClass(members["class"]),
        untrusted=members["untrusted"],
        local=members.get("local", False),
    )


def _encode(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
