"""Tools for tests that watch whether and how often a tool ran."""

import asyncio

from service.example_port.tools import Call, Tool, object_schema
from service.port_wire.answers import Answer, Failed, JsonValue, Result


class CountingTool:
    """Count the runs and answer with the count; `fails` answers with a failure, `breaks` raises."""

    def __init__(self, *, fails: bool = False, breaks: bool = False) -> None:
        self.runs = 0
        self._fails = fails
        self._breaks = breaks

    async def run(self, call: Call) -> Answer:
        self.runs += 1
        if self._breaks:
            raise RuntimeError("/srv/secret/path")
        return Failed(message=f"run {self.runs}") if self._fails else Result(content=self.runs)


class GatedTool:
    """Say that it started, and wait for the gate."""

    def __init__(self) -> None:
        self.runs = 0
        self.started = asyncio.Event()
        self.gate = asyncio.Event()

    async def run(self, call: Call) -> Answer:
        self.runs += 1
        self.started.set()
        await self.gate.wait()
        return Result(content=self.runs)


class ConstantTool:
    """Answer with one content."""

    def __init__(self, content: JsonValue) -> None:
        self._content = content

    async def run(self, call: Call) -> Answer:
        return Result(content=self._content)


def tool(name: str, implementation: CountingTool | GatedTool | ConstantTool) -> Tool:
    return Tool(
        name=name,
        title=name,
        description=name,
        parameters=object_schema({}, {"n": {"type": "integer"}}),
        run=implementation.run,
    )
