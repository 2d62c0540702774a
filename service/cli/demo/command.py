"""`turnkeeper demo`: check what it needs, run it until Ctrl-C."""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Annotated

import typer

from service.cli.demo.children import Children
from service.cli.demo.plan import HOST, Plan, Ports, demo_plan, packaged_model
from service.cli.demo.supervise import DemoFailed, supervise
from service.cli.demo.welcome import welcome
from service.cli.failure import fail
from service.cli.listening import CannotListen, listen
from service.cli.mcp_port import check_config

LLAMA_URL_VARIABLE = "TURNKEEPER_LLAMA_URL"
NO_LLAMA_SERVER = (
    "no prebuilt llama-server fits this platform; get one (brew install llama.cpp, winget install llama.cpp, "
    "or the docker image ghcr.io/ggml-org/llama.cpp:server), start it with a model, and run the demo again "
    f"with {LLAMA_URL_VARIABLE} set to its address"
)

Port = Annotated[int, typer.Option(envvar="TURNKEEPER_PORT", min=1, max=65535, help="Port of the service.")]
ToolPort = Annotated[
    int, typer.Option(envvar="DEMO_TOOL_PORT", min=1, max=65535, help="Port of the example tool port.")
]
LlamaPort = Annotated[int, typer.Option(envvar="DEMO_LLAMA_PORT", min=1, max=65535, help="Port of llama-server.")]
LlamaUrl = Annotated[str | None, typer.Option(envvar=LLAMA_URL_VARIABLE, help="Use this llama-server, start none.")]
Mcp = Annotated[
    Path | None,
    typer.Option(help="Use the tools of these MCP servers in the place of the example port's (see mcp-port --config)."),
]
Data = Annotated[Path | None, typer.Option(help="Keep data and logs in this folder.")]


def demo(
    port: Port = 8000,
    tool_port: ToolPort = 8090,
    llama_port: LlamaPort = 8080,
    llama_url: LlamaUrl = None,
    mcp: Mcp = None,
    data: Data = None,
) -> None:
    """Run llama-server with a small model, the example tool port and the service, until Ctrl-C."""
    if mcp is not None:
        mcp = mcp.expanduser().resolve()
        check_config(mcp)
    model = None
    if not llama_url:
        llama_url, model = None, packaged_model()
        if model is None:
            fail(NO_LLAMA_SERVER)
    ports = Ports(service=port, tools=tool_port, llama=None if llama_url else llama_port)
    _refuse_taken_ports(ports, "the example tool port" if mcp is None else "the MCP tool port")
    with _data_folder(data) as (folder, says):
        plan = demo_plan(ports, llama_url=llama_url, model=model, data=folder, mcp=mcp)
        typer.echo(f"Starting {', '.join(command.name for command in plan.commands)} …")
        try:
            asyncio.run(_run(plan, folder, says))
        except DemoFailed as failure:
            fail(str(failure))
        except (KeyboardInterrupt, asyncio.CancelledError):
            typer.echo("\nThe demo has ended.")


def _refuse_taken_ports(ports: Ports, tool_port: str) -> None:
    wanted = (
        (ports.llama, "llama-server", "--llama-port", "DEMO_LLAMA_PORT"),
        (ports.tools, tool_port, "--tool-port", "DEMO_TOOL_PORT"),
        (ports.service, "the service", "--port", "TURNKEEPER_PORT"),
    )
    for port, name, option, variable in wanted:
        if port is None:
            continue
        try:
            listen(HOST, port).close()
        except CannotListen as error:
            fail(f"{error}, and {name} needs it; choose another with {option} or the variable {variable}")


@contextlib.contextmanager
def _data_folder(chosen: Path | None) -> Generator[tuple[Path, str]]:
    if chosen is not None:
        folder = chosen.expanduser().resolve()
        yield folder, str(folder)
        return
    with tempfile.TemporaryDirectory(prefix="turnkeeper-demo-") as made:
        yield Path(made), f"{made} (removed at the end; --data FOLDER keeps them)"


async def _run(plan: Plan, folder: Path, data_says: str) -> None:
    _end_like_ctrl_c(signal.SIGTERM)
    children = Children(folder / "logs")
    await supervise(plan, children, lambda: typer.echo(welcome(plan, data_says, sys.argv[0])))


def _end_like_ctrl_c(number: signal.Signals) -> None:
    this = asyncio.current_task()
    if os.name == "posix" and this is not None:
        asyncio.get_running_loop().add_signal_handler(number, this.cancel)
