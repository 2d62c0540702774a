"""What a tool is, and the registry that checks a call and runs it.

Above: the app. Below: the tool families, each a function that returns a tuple of `Tool`.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from itertools import islice

import jsonschema_rs

from service.port_wire.answers import Answer, DataClass, Failed, JsonObject, JsonValue

_log = logging.getLogger(__name__)

MAX_ERRORS_TOLD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Hold one call of one tool. `approved` is true when a human has allowed exactly this call."""

    tool: str
    arguments: JsonObject
    approved: bool = False

    def text(self, name: str) -> str:
        """Give a string argument; the schema has to require it."""
        value = self.arguments[name]
        if not isinstance(value, str):
            raise TypeError(name)
        return value

    def integer(self, name: str) -> int:
        """Give an integer argument; the schema has to require it, and takes 2.0 for an integer too."""
        value = self.arguments[name]
        if not isinstance(value, int | float):
            raise TypeError(name)
        return int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Describe one tool and hold the function that runs it.

    The flags and their defaults are those of the wire (DESIGN section 8); the howto tells what each does.
    """

    name: str
    title: str
    description: str
    parameters: JsonObject
    run: Callable[[Call], Awaitable[Answer]]
    needs_approval: bool = False
    acts_outside: bool = False
    repeatable: bool = False
    idempotent: bool = False
    timeout_ms: int = 120_000
    data_class: DataClass = DataClass.PUBLIC
    untrusted: bool = False

    def spec(self) -> JsonObject:
        """Give the tool's entry in the answer to `GET /tools`."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "parameters": self.parameters,
            "needs_approval": self.needs_approval,
            "acts_outside": self.acts_outside,
            "repeatable": self.repeatable,
            "idempotent": self.idempotent,
            "timeout_ms": self.timeout_ms,
            "class": self.data_class.value,
            "untrusted": self.untrusted,
        }


def object_schema(required: dict[str, JsonObject], optional: dict[str, JsonObject] | None = None) -> JsonObject:
    """Give the JSON Schema of an object with these properties."""
    schema: dict[str, JsonValue] = {"type": "object", "properties": {**required, **(optional or {})}}
    if required:
        schema["required"] = list(required)
    return schema


class Registry:
    """Hold the tools by name, and run them only with arguments that their schema allows."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        self._validators: dict[str, jsonschema_rs.Validator] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are named {tool.name}")
            self._tools[tool.name] = tool
            self._validators[tool.name] = jsonschema_rs.Draft202012Validator(dict(tool.parameters))

    def specs(self) -> list[JsonObject]:
        """Give the specs in the order in which the tools were registered."""
        return [tool.spec() for tool in self._tools.values()]

    async def run(self, call: Call) -> Answer:
        """Run one call. Everything that can go wrong inside comes back as `Failed`."""
        tool = self._tools.get(call.tool)
        if tool is None:
            return Failed(message=f"there is no tool {call.tool!r}; the tools are: {', '.join(self._tools)}")
        complaint = self._complaint(call)
        if complaint is not None:
            return Failed(message=complaint)
        try:
            return await tool.run(call)
        except Exception:
            # The edge between the port and a tool: the details are for the port's log, not for the model.
            _log.exception("tool %r broke", call.tool)
            return Failed(message=f"{call.tool} broke; the port's log says why")

    def _complaint(self, call: Call) -> str | None:
        errors = self._validators[call.tool].iter_errors(call.arguments)
        told = [
            f"{'/'.join(str(step) for step in error.instance_path) or 'arguments'}: {error.message}"
            for error in islice(errors, MAX_ERRORS_TOLD)
        ]
        return "; ".join(told) or None
