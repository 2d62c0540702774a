"""Keeps one server going: starts it, holds its list of tools, calls it, and starts it again when it has ended.

One task for each server, since a connection has to be ended by the task that began it. Calls come from others.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent, Tool
from pydantic import ValidationError

from service.mcp_port.config_file import ServerConfig
from service.mcp_port.connection import Mode, connected, tools_of
from service.mcp_port.ending import LOST_SESSION, Ending
from service.mcp_port.faults import (
    input_wanted,
    is_broken_off,
    is_lost,
    is_too_long,
    reason_of,
    refused,
    was_not_made,
)
from service.mcp_port.listed import CallFault, ServerState, ServerTools
from service.mcp_port.stdio import TOO_LONG

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
STEADY_S = 60.0
"""Who ran for so long is not one that can't start: its next wait is the first one again."""

LIST_WITHIN_S = 10.0

OTHERS_WITHIN_S = 1.0
"""A session that is lost stays open so long for calls that still run in it: they too may learn that it is."""

NEXT_TRY = "; the next try is "
STOPPED = "stopped answering"

Sleep = Callable[[float], Awaitable[None]]
Now = Callable[[], float]

_log = logging.getLogger(__name__)


def wait_s(failures: int) -> float:
    """Give how long to wait before a start, after so many that failed in a row."""
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(failures, 16))


class Supervisor:
    """One server; `sleep` and `now` are the clock's."""

    def __init__(self, config: ServerConfig, *, sleep: Sleep = asyncio.sleep, now: Now | None = None) -> None:
        self._config = config
        self._sleep = sleep
        self._now = now or anyio.current_time
        self._client: Client | None = None
        self._tools: tuple[Tool, ...] = ()
        self._said = "is being started"
        self._state = ServerState.STARTING
        self._ending = Ending()
        # In this connection, so that one that can't even be begun is not begun again and again without a wait.
        self._answered = False
        # Calls that have been sent, and the end of one of them.
        self._asking = 0
        self._answers = asyncio.Event()
        self._changed = asyncio.Event()
        self.settled = asyncio.Event()
        self._looking: set[asyncio.Task[None]] = set()

    @property
    def listed(self) -> ServerTools:
        """What is known of it."""
        return ServerTools(name=self._config.name, state=self._state, said=self._said, tools=self._tools)

    async def run(self) -> None:
        """Start it, again and again, until cancelled."""
        this = asyncio.current_task()
        assert this is not None  # a coroutine runs in one
        failures = 0
        while True:
            begun = self._now()
            reason = await self._one_life("legacy" if failures % 2 else "auto")
            if this.cancelling():
                # A connection that broke in the same moment has taken its place.
                raise asyncio.CancelledError
            lasted = self._answered or self._now() - begun >= FIRST_WAIT_S
            if self._ending.lost_session and lasted:
                _log.info("server %s %s; a new one begins", self._config.name, reason)
                self._begins_anew()
                continue
            if self._state is ServerState.UP and self._now() - begun >= STEADY_S:
                failures = 0
            wait = wait_s(failures)
            failures += 1
            self._state, self._said = ServerState.DOWN, f"{reason}{NEXT_TRY}{wait:g} s later"
            _log.warning("server %s %s", self._config.name, self._said)
            self.settled.set()
            await self._sleep(wait)

    async def _one_life(self, mode: Mode) -> str:
        """Run it until it ends, and say why it did."""
        ending = self._ending = Ending()
        self._answered = False
        within_s = self._config.start_timeout_s
        try:
            with anyio.fail_after(within_s) as start:
                async with connected(self._config, ending, self._changed.set, mode) as client:
                    self._up(client, await tools_of(client))
                    start.deadline = math.inf
                    return await self._watch(client, ending)
        except TimeoutError:
            return f"did not start within {within_s:g} s"
        except Exception as error:
            # A program that has ended tells more than the connection that broke with it.
            return ending.said or reason_of(error)
        finally:
            self._client = None

    def _up(self, client: Client, tools: tuple[Tool, ...]) -> None:
        self._client, self._tools, self._said, self._state = client, tools, "", ServerState.UP
        self.settled.set()
        _log.info("server %s is up, with %d tools", self._config.name, len(tools))

    async def _watch(self, client: Client, ending: Ending) -> str:
        while True:
            await _first_of(ending.came, self._changed)
            if ending.came.is_set():
                if ending.lost_session:
                    await self._others()
                return ending.said
            self._changed.clear()
            await self._list_again(client)

    async def _others(self) -> None:
        with anyio.move_on_after(OTHERS_WITHIN_S):
            while self._asking:
                self._answers.clear()
                await self._answers.wait()

    async def _list_again(self, client: Client) -> None:
        try:
            with anyio.fail_after(LIST_WITHIN_S):
                self._tools = await tools_of(client)
        except Exception as error:
            reason = "did not answer in time" if isinstance(error, TimeoutError) else reason_of(error)
            _log.warning("server %s changed its tools, and their list can't be had: %s", self._config.name, reason)
            return
        _log.info("server %s changed its tools; now there are %d", self._config.name, len(self._tools))

    async def call(
        self, tool: str, arguments: dict[str, Any], *, timeout_s: float, traceparent: str | None
    ) -> CallToolResult:
        """Call a tool; an error of the server's is a result that says so.

        Raises:
            CallFault: it is down, or gave no answer that is one.
        """
        meta: Any = None if traceparent is None else {"traceparent": traceparent}
        client, ending = None, self._ending
        try:
            async with asyncio.timeout(timeout_s):
                client, ending = await self._connected()
                try:
                    return await self._ask(client, tool, arguments, meta)
                except MCPError as error:
                    if error.message != LOST_SESSION:
                        raise
                # It was not carried out, for want of a session; once more, in a new one.
                client, ending = await self._connected()
                return await self._ask(client, tool, arguments, meta)
        except TimeoutError:
            if client is None:
                raise self._fault("is still being started") from None
            self._look_after(client, ending)
            raise self._fault(f"did not answer within {timeout_s:g} s") from None
        except MCPError as error:
            if client is not None and (was_not_made(error) or is_broken_off(error)):
                self._look_after(client, ending)
            return self._told(error, ending)
        except (ValidationError, RuntimeError) as error:
            _log.warning("server %s: %s", self._config.name, type(error).__name__)
            raise self._fault("answered with what is no result of this tool") from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise self._fault("ended while the call ran; it may have taken effect") from error

    async def _ask(self, client: Client, tool: str, arguments: dict[str, Any], meta: Any) -> CallToolResult:
        self._asking += 1
        try:
            return self._seen(await client.call_tool(tool, arguments, meta=meta))
        finally:
            self._asking -= 1
            self._answers.set()

    def _begins_anew(self) -> None:
        """Take note that a session is lost, so that calls wait for the next one."""
        self._client, self._state, self._said = None, ServerState.STARTING, "is being started"
        self.settled.clear()

    async def _connected(self) -> tuple[Client, Ending]:
        """Give the connection and what is told of its end, once there is one."""
        if self._client is not None:
            # Between its end and what follows from that, a call would only seem to have been made.
            if self._ending.lost_session:
                self._begins_anew()
            elif self._ending.came.is_set():
                raise self._fault(self._ending.said)
        if self._client is None and not self.settled.is_set():
            await self.settled.wait()
        if self._client is None:
            raise self._fault(self._said)
        return self._client, self._ending

    def _told(self, error: MCPError, ending: Ending) -> CallToolResult:
        if is_too_long(error):
            raise self._fault(TOO_LONG) from error
        refusal = refused(error)
        if refusal is not None:
            raise self._fault(refusal) from error
        if was_not_made(error):
            raise self._fault("can't be reached; the call was not made") from error
        if is_broken_off(error):
            raise self._fault("broke off the connection while the call ran; it may have taken effect") from error
        if is_lost(error):
            ending.end(STOPPED)
            raise self._fault("ended while the call ran; it may have taken effect") from error
        # The server's own words.
        return self._seen(CallToolResult(content=[TextContent(text=error.message)], is_error=True))

    def _seen(self, result: CallToolResult) -> CallToolResult:
        self._answered = True
        if result.is_error:
            wanted = input_wanted("".join(block.text for block in result.content if isinstance(block, TextContent)))
            if wanted is not None:
                raise self._fault(wanted)
        return result

    def _look_after(self, client: Client, ending: Ending) -> None:
        """See whether it still answers at all; one that doesn't is started again."""
        task = asyncio.create_task(_look(client, ending), name=f"look at {self._config.name}")
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    def _fault(self, said: str) -> CallFault:
        return CallFault(f"the MCP server {self._config.name} {said}")


async def _look(client: Client, ending: Ending) -> None:
    try:
        with anyio.fail_after(LIST_WITHIN_S):
            await tools_of(client)
    except MCPError as error:
        ending.end(reason_of(error))
    except Exception:
        # Whatever it is: it does not answer.
        ending.end(STOPPED)


async def _first_of(*events: asyncio.Event) -> None:
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
