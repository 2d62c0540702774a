"""What the HTTP side knows of the servers: their tools, how they are, and how one of them is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from mcp_types import CallToolResult, Tool


class ServerState(StrEnum):
    """How a server is."""

    STARTING = "starting"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTools:
    """What is known of one server.

    `said` is why it is down or what it is at, in one line without secrets. `tools` is the last list that was had: a
    server that is down keeps it, so that prompts stay as they are.
    """

    name: str
    state: ServerState
    said: str = ""
    tools: tuple[Tool, ...] = ()


class CallFault(Exception):
    """A call could not be made, or brought nothing; the text is for the model, short and without secrets."""


class McpServers(Protocol):
    """Any number of MCP servers."""

    def listed(self) -> Sequence[ServerTools]:
        """Give all servers, in the order of the file."""
        ...

    async def settled(self, within_s: float, server: str | None = None) -> None:
        """Wait until none, or this one alone, starts for the first time, or no longer than that."""
        ...

    async def call(
        self, server: str, tool: str, arguments: dict[str, Any], *, timeout_s: float, traceparent: str | None
    ) -> CallToolResult:
        """Call a tool; a cancel of the task cancels the request.

        Raises:
            CallFault: the server is down, or did not answer well within the time.
        """
        ...
