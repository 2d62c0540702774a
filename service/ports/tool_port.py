"""The external endpoint that lists and runs tools (section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from service.core.json_types import JsonObject
from service.core.tool_port import ToolAnswer, ToolRequest


class ToolPort(Protocol):
    """The external endpoint that lists and runs tools (section 8)."""

    async def list_tools(self) -> Sequence[JsonObject]:
        """Fetch the port's list as it is; checking it is a rule of the core (X3).

        Raises:
            ToolPortFailure: the list can't be had.
        """
        ...

    async def call(self, request: ToolRequest) -> ToolAnswer:
        """Run one call. Whatever goes wrong is an answer with status `failed`, never an exception (X1)."""
        ...
