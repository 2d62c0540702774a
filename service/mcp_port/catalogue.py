"""All tools that the port offers now, in an order that does not depend on when servers answered.

Servers come in the order of the file, and the tools of one by their names: a prompt that lists them must not change
because a server lists them otherwise today.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.mcp_port.config_file import ServerConfig
from service.mcp_port.listed import ServerState, ServerTools
from service.mcp_port.specs import OfferedTool, is_offered, offer
from service.mcp_port.tool_names import offered_name
from service.port_wire.answers import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What is offered, and which tools are left out since another one has their name."""

    tools: Mapping[str, OfferedTool]
    left_out: Sequence[str]


def catalogue_of(configs: Sequence[ServerConfig], listed: Sequence[ServerTools]) -> Catalogue:
    """Give the tools of these servers, by the names that they are offered under."""
    tools: dict[str, OfferedTool] = {}
    left_out: list[str] = []
    known = {server.name: server for server in listed}
    for config in configs:
        server = known.get(config.name)
        for tool in sorted(() if server is None else server.tools, key=lambda tool: tool.name):
            if not is_offered(config, tool.name):
                continue
            name = offered_name(config.name, tool.name)
            if name in tools:
                left_out.append(
                    f"{config.name}: {tool.name!r} is left out, since {name} is another tool's name already"
                )
            else:
                tools[name] = offer(config, tool, name)
    return Catalogue(tools=tools, left_out=left_out)


def tools_answer(catalogue: Catalogue, listed: Sequence[ServerTools]) -> JsonObject:
    """Give what `GET /tools` answers: the specs, and how each server is."""
    return {
        "tools": [tool.spec for tool in catalogue.tools.values()],
        "servers": [_told(server) for server in listed],
        "left_out": list(catalogue.left_out),
    }


def _told(server: ServerTools) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"name": server.name, "state": server.state.value}
    if server.said and server.state is not ServerState.UP:
        told["said"] = server.said
    return told
