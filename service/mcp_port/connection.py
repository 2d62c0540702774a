"""A session with one server, whichever way it is reached and whichever version of MCP it speaks.

Below: the SDK's client, which asks for the newest version first and falls back to the handshake of the older ones. It
is told of no way to ask people, models or for folders, so servers know that they can't.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

import jsonschema  # noqa: F401 # pyright: ignore[reportUnusedImport] - the SDK loads it in the middle of a call
from mcp.client import Client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation, Tool, ToolListChangedNotification

from service import __version__
from service.mcp_port.config_file import ServerConfig, StdioServer
from service.mcp_port.ending import Ending
from service.mcp_port.faults import EndlessList
from service.mcp_port.http import http_transport
from service.mcp_port.stdio import stdio_transport

NAME = "turnkeeper-mcp-port"

# A list of tools whose pages never end would never be had.
_MOST_PAGES = 100

OnChange = Callable[[], None]
Mode = Literal["auto", "legacy"]


@asynccontextmanager
async def connected(config: ServerConfig, ending: Ending, on_change: OnChange, mode: Mode) -> AsyncGenerator[Client]:
    """Connect to a server; `on_change` is called when it says that its tools changed, `ending` told how it ends.

    Raises:
        Exception: there is no server, or none that speaks MCP; the SDK raises many kinds, in groups too.
    """

    async def heard(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            on_change()

    server = config.transport
    if isinstance(server, StdioServer):
        transport = stdio_transport(config.name, server, ending)
    else:
        transport = http_transport(server, ending)
    info = Implementation(name=NAME, version=__version__)
    async with AsyncExitStack() as stack:
        client = Client(transport, mode=mode, client_info=info, cache=None, message_handler=heard)
        await stack.enter_async_context(client)
        listening = asyncio.create_task(_listen(client, on_change), name=f"changes of {config.name}")
        stack.callback(listening.cancel)
        yield client


async def tools_of(client: Client) -> tuple[Tool, ...]:
    """Ask for all tools, page by page.

    Raises:
        MCPError: the list can't be had, or has no end (`EndlessList`).
    """
    if client.server_capabilities.tools is None:
        return ()
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            return tuple(tools)
    raise EndlessList(0, f"has a list of tools with more than {_MOST_PAGES} pages")


async def _listen(client: Client, on_change: OnChange) -> None:
    """Hear of changes from a server of the newest version, which tells only those who listen."""
    capabilities = client.server_capabilities
    if capabilities.tools is None or not capabilities.tools.list_changed:
        return
    try:
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                on_change()
    except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
        # An older version tells unasked, and a server that is gone has nothing to tell.
        return
