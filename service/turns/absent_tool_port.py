"""Stands for the tool port where none is set: nothing is listed, and calls of older sessions fail in words."""

from __future__ import annotations

from collections.abc import Sequence

from service.core.json_types import JsonObject
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolRequest


class AbsentToolPort:
    """A tool port without tools."""

    async def list_tools(self) -> Sequence[JsonObject]:
        """List nothing."""
        return ()

    async def call(self, request: ToolRequest) -> ToolAnswer:
        """Fail a call of a session that was made while there was a port."""
        return ToolAnswer(status=AnswerStatus.FAILED, text="no tool port is set (setting tool_port_url)")
