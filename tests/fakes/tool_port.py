"""A tool port that answers from a table and remembers what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from service.core.errors import ToolPortFailure
from service.core.json_types import JsonObject
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolRequest

Tool = Callable[[ToolRequest], ToolAnswer]


def spec(name: str, **other: object) -> JsonObject:
    """A tool as the port lists it: one optional string argument, `city`."""
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "additionalProperties": False}
    return {"name": name, "description": f"The tool {name}.", "parameters": parameters, **other}


def result(text: str, **labels: object) -> ToolAnswer:
    """An answer that went well."""
    return ToolAnswer(status=AnswerStatus.RESULT, text=text, **labels)  # pyright: ignore[reportArgumentType]


class TablePort:
    """Answers each tool by its function; `hold` keeps calls waiting until it is set."""

    def __init__(self, *listed: JsonObject, tools: dict[str, Tool] | None = None) -> None:
        self.listed = list(listed)
        self.tools = tools or {}
        self.calls: list[ToolRequest] = []
        self.arrived = asyncio.Event()
        self.hold: asyncio.Event | None = None
        self.in_flight = 0
        self.most_in_flight = 0
        self.aborted = 0
        self.away: ToolPortFailure | None = None

    async def list_tools(self) -> Sequence[JsonObject]:
        if self.away is not None:
            raise self.away
        return self.listed

    async def call(self, request: ToolRequest) -> ToolAnswer:
        self.calls.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.arrived.set()
        try:
            if self.hold is not None:
                await self.hold.wait()
            else:
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.aborted += 1
            raise
        finally:
            self.in_flight -= 1
        tool = self.tools.get(request.tool)
        return tool(request) if tool is not None else result(f"{request.tool} says ok")
