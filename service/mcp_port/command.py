"""What `turnkeeper mcp-port` does: serve the tools of a file's servers, or start them once and say what they have."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from service.mcp_port.app import create_app
from service.mcp_port.catalogue import catalogue_of
from service.mcp_port.config_file import ServerConfig, load_config
from service.mcp_port.listed import ServerState, ServerTools
from service.mcp_port.servers import ServersOf
from service.mcp_port.specs import OfferedTool
from service.mcp_port.supervisor import NEXT_TRY
from service.port_wire.serving import is_loopback, listen, serve
from service.port_wire.signatures import BadSecretError, Signatures

TOKEN_VARIABLE = "TOOL_PORT_TOKEN"
SECRET_VARIABLE = "TOOL_PORT_SECRET"

NAME = "MCP tool port"

_FLAGS = ("needs_approval", "acts_outside", "repeatable", "idempotent", "untrusted")
_log = logging.getLogger(__name__)


class CannotServe(Exception):
    """The port can't be opened; the text is one line that says why and what to do."""


def run(file: Path, host: str, port: int) -> None:
    """Serve until a signal ends it.

    Raises:
        ConfigError: the file is wrong.
        CannotServe: the address can't be had, or a secret is none.
    """
    configs = load_config(file, os.environ)
    token, secret = os.environ.get(TOKEN_VARIABLE) or None, os.environ.get(SECRET_VARIABLE) or None
    try:
        signatures = None if secret is None else Signatures(secret)
    except BadSecretError as error:
        raise CannotServe(f"{SECRET_VARIABLE} {error}") from error
    try:
        listener = listen(host, port)
    except OSError as error:
        raise CannotServe(f"can't listen on {host}:{port}: {error.strerror or error}; try another --port") from error
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    # The SDK tells of each request, with addresses and answers; what matters of it is told by `supervisor.py`.
    for library in ("mcp", "client", "httpx2"):
        logging.getLogger(library).setLevel(logging.CRITICAL)
    if token is None and signatures is None and not is_loopback(host):
        _log.warning("without %s or %s whoever reaches this port can run its tools", TOKEN_VARIABLE, SECRET_VARIABLE)
    with listener:
        serve(create_app(configs, token=token, signatures=signatures), listener, NAME)


def check(file: Path) -> tuple[list[str], bool]:
    """Start the servers once; give a line for each of them and for each tool, and whether all are up.

    Raises:
        ConfigError: the file is wrong.
    """
    configs = load_config(file, os.environ)
    logging.disable(logging.CRITICAL)
    listed = asyncio.run(_started_once(configs))
    return list(_report(configs, listed)), all(server.state is ServerState.UP for server in listed)


async def _started_once(configs: Sequence[ServerConfig]) -> Sequence[ServerTools]:
    async with ServersOf(configs) as servers:
        await servers.settled(max((config.start_timeout_s for config in configs), default=0) + 1)
        return servers.listed()


def _report(configs: Sequence[ServerConfig], listed: Sequence[ServerTools]) -> Iterator[str]:
    catalogue = catalogue_of(configs, listed)
    for server in listed:
        tools = [tool for tool in catalogue.tools.values() if tool.server == server.name]
        if server.state is not ServerState.UP:
            yield f"{server.name}: {server.state}, it {server.said.partition(NEXT_TRY)[0]}"
            continue
        left = len(server.tools) - len(tools)
        yield f"{server.name}: up, {len(tools)} tools{f', {left} more that the file leaves out' if left else ''}"
        yield from (f"  {_told(tool)}" for tool in tools)
    yield from catalogue.left_out
    if not listed:
        yield "the file has no server"


def _told(tool: OfferedTool) -> str:
    flags = [flag for flag in _FLAGS if tool.spec.get(flag)]
    data_class = tool.spec.get("class")
    if data_class is not None:
        flags.append(f"class {data_class}")
    return f"{tool.name}  ({', '.join(flags)})" if flags else tool.name
