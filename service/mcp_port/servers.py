"""All servers of the file, side by side: each is kept going by a task of its own, and none waits for another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from mcp_types import CallToolResult

from service.mcp_port.config_file import ServerConfig
from service.mcp_port.listed import CallFault, ServerTools
from service.mcp_port.supervisor import Now, Sleep, Supervisor


class ServersOf:
    """The `McpServers` of a file; they run within its context."""

    def __init__(
        self, configs: Sequence[ServerConfig], *, sleep: Sleep = asyncio.sleep, now: Now | None = None
    ) -> None:
        self._supervisors = {config.name: Supervisor(config, sleep=sleep, now=now) for config in configs}
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        """Start all, and wait for none."""
        self._tasks = [
            asyncio.create_task(supervisor.run(), name=f"server {name}")
            for name, supervisor in self._supervisors.items()
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all, at the same time."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def listed(self) -> Sequence[ServerTools]:
        """Give all servers, in the order of the file."""
        return [supervisor.listed for supervisor in self._supervisors.values()]

    async def settled(self, within_s: float, server: str | None = None) -> None:
        """Wait until each, or this one alone, has started or failed to for the first time, or no longer than that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                for name, supervisor in self._supervisors.items():
                    if server in (None, name):
                        await supervisor.settled.wait()

    async def call(
        self, server: str, tool: str, arguments: dict[str, Any], *, timeout_s: float, traceparent: str | None
    ) -> CallToolResult:
        """Call a tool of a server.

        Raises:
            CallFault: the server is down, or did not answer well within the time.
        """
        supervisor = self._supervisors.get(server)
        if supervisor is None:
            raise CallFault(f"there is no MCP server {server}")
        return await supervisor.call(tool, arguments, timeout_s=timeout_s, traceparent=traceparent)
