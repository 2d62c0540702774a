"""What the model wrote as arguments: an object that the tool's schema allows, or why it is none (T10).

Above: the batch that gives each call its disposition. Below: `tool_schemas.py`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from itertools import islice
from typing import NoReturn, cast

import jsonschema_rs

from service.core.json_types import JsonObject, JsonValue
from service.core.json_walk import is_nested_deeper
from service.core.records import ResultStatus
from service.core.result_text import CallOutcome
from service.core.tool_port import ToolSpec
from service.core.tool_schemas import compiled
from service.core.visible import visible

MAX_ARGUMENT_LEVELS = 64
"""Objects and arrays inside one another; real calls have two or three."""

ECHO_CHARACTERS = 200
"""How much of bad arguments the model is shown again (P4)."""

SHOWN_NAMES = 50
"""How many of the tools there are an answer to an unknown name lists."""

_SHOWN_NAME = 64
_SHOWN_FAULT = 300
_SHOWN_FAULTS = 3
# The validator finds all faults or the first one, and a long list can have a fault in each item.
_ALL_FAULTS_UP_TO = 4096


# bool before int, whose subclass it is.
_KINDS = ((list, "an array"), (str, "a string"), (bool, "a boolean"), ((int, float), "a number"))


class _Unusable(Exception):
    """Arguments that can't be run; the text is the predicate of a sentence."""


class ArgumentChecker:
    """Check the arguments of calls against the specs of one session; each schema is compiled once.

    `known` completes the answer to an unknown name: it says which tools there are, all of them if it is not given
    (T10).
    """

    def __init__(self, specs: Iterable[ToolSpec], known: str | None = None) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._known = known or named(tuple(self._specs))
        self._validators: dict[str, jsonschema_rs.Validator] = {}

    def check(self, name: str, raw: str) -> JsonObject | CallOutcome:
        """Give the arguments to run the tool with, or the outcome of a call that can't run (T6, T10)."""
        try:
            arguments = _parsed(raw)
            spec = self._specs.get(name)
            if spec is None:
                return _unknown_tool(name, self._known)
            self._validate(spec, arguments, raw)
        except _Unusable as unusable:
            return _bad_arguments(name, raw, str(unusable))
        return arguments

    def _validate(self, spec: ToolSpec, arguments: JsonObject, raw: str) -> None:
        validator = self._validator(spec)
        try:
            validator.validate(arguments)
        except jsonschema_rs.ValidationError as first:
            few = len(raw) <= _ALL_FAULTS_UP_TO
            faults = islice(validator.iter_errors(arguments), _SHOWN_FAULTS) if few else [first]
            raise _Unusable(f"do not fit the tool's schema: {'; '.join(map(_fault, faults))}") from first

    def _validator(self, spec: ToolSpec) -> jsonschema_rs.Validator:
        if spec.name not in self._validators:
            try:
                self._validators[spec.name] = compiled(spec.parameters)
            except ValueError as error:
                # Only a spec that an earlier version let in.
                raise _Unusable("can't be checked: the tool's schema is not valid") from error
        return self._validators[spec.name]


def malformed(name: str, raw: str) -> CallOutcome | None:
    """Give the outcome of a call whose arguments are no object of JSON, whatever its tool; None when they are (T10)."""
    try:
        _parsed(raw)
    except _Unusable as unusable:
        return _bad_arguments(name, raw, str(unusable))
    return None


def shown_arguments(raw: str) -> str:
    """Give the arguments as the prompt shows them: the model's text, or `{}` for what is no object (P4)."""
    try:
        _parsed(raw)
    except _Unusable:
        return "{}"
    return raw


def _parsed(raw: str) -> JsonObject:
    if not raw.strip():
        raise _Unusable("are empty; a tool that needs none takes {}")
    try:
        value: JsonValue = json.loads(
            raw, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant, parse_float=_finite
        )
    except RecursionError as error:
        raise _too_deep() from error
    except json.JSONDecodeError as error:
        raise _Unusable(f"are not JSON ({error})") from error
    except ValueError as error:
        raise _Unusable("hold a number of too many digits") from error
    if not isinstance(value, dict):
        raise _Unusable(f"must be a JSON object, not {_kind(value)}")
    arguments = cast(JsonObject, value)
    if is_nested_deeper(arguments, MAX_ARGUMENT_LEVELS):
        raise _too_deep()
    if not _is_unicode(arguments):
        raise _Unusable("hold half of a surrogate pair, which is no character")
    return arguments


def _without_repeats(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    members: JsonObject = {}
    for key, value in pairs:
        if key in members:
            raise _Unusable(f'have the key "{visible(key, _SHOWN_NAME)}" twice in one object')
        members[key] = value
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise _Unusable(f"hold {name}, which is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _Unusable(f"hold the number {visible(digits, _SHOWN_NAME)}, which is too large")
    return number


def _too_deep() -> _Unusable:
    return _Unusable(f"are nested more than {MAX_ARGUMENT_LEVELS} levels deep")


def _is_unicode(arguments: JsonObject) -> bool:
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: JsonValue) -> str:
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "null")


def _fault(error: jsonschema_rs.ValidationError) -> str:
    path = "".join(f"/{step}" for step in error.instance_path)
    message = visible(error.message, _SHOWN_FAULT)
    return f"at {visible(path, _SHOWN_FAULT)}: {message}" if path else message


def _bad_arguments(name: str, raw: str, reason: str) -> CallOutcome:
    sent = f" They were: {visible(raw, ECHO_CHARACTERS)}" if raw.strip() else ""
    text = f"{visible(name, _SHOWN_NAME)} was not run: its arguments {reason}.{sent}"
    return CallOutcome(status=ResultStatus.BAD_ARGUMENTS, text=text)


def named(names: tuple[str, ...]) -> str:
    """Name the tools that there are, the first of very many, in one sentence (T10)."""
    if not names:
        return "There are no tools in this session."
    more = f", … and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return f"The tools are: {', '.join(names[:SHOWN_NAMES])}{more}."


def _unknown_tool(name: str, known: str) -> CallOutcome:
    text = f'There is no tool named "{visible(name, _SHOWN_NAME)}". {known}'
    return CallOutcome(status=ResultStatus.UNKNOWN_TOOL, text=text)
