"""Turns in which a model makes the same calls again."""

from __future__ import annotations

from service.core.baseline import Limits, ToolMode
from service.core.completion_events import ModelCall
from service.core.records import ResultStatus, ToolResult
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolRequest
from service.core.views import TurnView
from service.turns.requests import ToolsAsked
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.turns.turn_facts import end_of, results_of

NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}


def t(arguments: str = "{}", number: int = 0) -> ModelCall:
    """Call the tool `t`."""
    return call("t", arguments, id=f"id{number}")


def through(arguments: str) -> ModelCall:
    """Call the tool `t` through `call_tool`."""
    return call("call_tool", f'{{"name": "t", "arguments": {arguments}}}')


class FlakyPort(TablePort):
    """Its tool `t` fails as often as it is told to, and then works."""

    def __init__(self, failures: int = 0, **listed: object) -> None:
        super().__init__(spec("t", parameters=NUMBERS, **listed), spec("u"))
        self.failures = failures

    async def call(self, request: ToolRequest) -> ToolAnswer:
        answer = await super().call(request)
        if len(self.calls) <= self.failures:
            return ToolAnswer(status=AnswerStatus.FAILED, text="no luck")
        return answer


async def played(
    *steps: Play, port: TablePort | None = None, limits: Limits | None = None, mode: ToolMode = ToolMode.DIRECT
) -> tuple[TurnView, list[ToolResult], TablePort]:
    """Run a turn of these steps, which ends with text if nothing ends it before."""
    port = port or FlakyPort()
    house = House(ScriptedLlama(*steps, say("Done.")), port, limits=limits)
    session = await house.session(tools=ToolsAsked(mode=mode))
    view = await house.run(session)
    assert (await end_of(house, session)).limit is view.limit
    return view, await results_of(house, session), port


def statuses(results: list[ToolResult]) -> list[ResultStatus]:
    """Give the statuses of results."""
    return [shown.status for shown in results]
