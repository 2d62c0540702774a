"""`turnkeeper mcp-port`: a tool port whose tools are those of MCP servers."""

import os
from pathlib import Path
from typing import Annotated

import typer

from service.cli.failure import WRONG_USE, fail

NOT_INSTALLED = "mcp-port needs packages that are not installed: pip install 'turnkeeper[mcp]'"

Config = Annotated[
    Path, typer.Option("--config", help='The servers, in the form that MCP clients share: {"mcpServers": …}.')
]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")]
Check = Annotated[bool, typer.Option("--check", help="Start the servers once, print their tools, and end.")]


def check_config(file: Path) -> None:
    """See that the port could be run with this file, before anything else is started.

    Raises:
        typer.Exit: it can't; what to do is on standard error.
    """
    try:
        # All that the port needs, not only what reads the file.
        import service.mcp_port.command  # noqa: F401 # pyright: ignore[reportUnusedImport]
        from service.mcp_port.config_file import ConfigError, load_config
    except ModuleNotFoundError:
        fail(NOT_INSTALLED)
    try:
        load_config(file, os.environ)
    except ConfigError as error:
        fail(str(error), exit_code=WRONG_USE)


def mcp_port(config: Config, host: Host = "127.0.0.1", port: Port = 8090, check: Check = False) -> None:
    """Offer the tools of MCP servers as a tool port, until Ctrl-C.

    With TOOL_PORT_TOKEN set, callers need it as a bearer token; with TOOL_PORT_SECRET set, which is Turnkeeper's
    TURNKEEPER_TOOL_PORT_SECRET, their requests must be signed with it.
    """
    try:
        from service.mcp_port import command
        from service.mcp_port.config_file import ConfigError
    except ModuleNotFoundError:
        fail(NOT_INSTALLED)
    try:
        if not check:
            command.run(config, host, port)
            return
        lines, all_up = command.check(config)
    except ConfigError as error:
        fail(str(error), exit_code=WRONG_USE)
    except command.CannotServe as error:
        fail(str(error))
    typer.echo("\n".join(lines))
    if not all_up:
        raise typer.Exit(1)
