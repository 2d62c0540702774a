"""The tools that the service itself offers: in the baseline of each session with tools, from its creation (X3).

Their specs are stored with the session's, so that a later version's words never change a prompt that was begun.
Above: `toolset`. Below: `tool_port`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from service.core.action import CALL_TOOL
from service.core.baseline import ToolMode
from service.core.tool_port import ToolSpec

FIND_TOOL = "find_tool"
READ_RESULT = "read_result"
HANDOFF_TO = "handoff_to"

LOCAL_NAMES = frozenset({FIND_TOOL, CALL_TOOL, READ_RESULT, HANDOFF_TO})
"""Names that no tool of the port may have."""

MOST_CARRIED = 10
"""How many messages a handoff may take along (G2)."""

FOUND_TOOLS = 8
"""How many specs `find_tool` gives at once: of plain questions over 500 tools the first eight hold the right one more
often than the first three, and the model can tell by the descriptions which it is."""

NO_AGENTS: Mapping[str, str] = MappingProxyType({})
"""Of a service without agent profiles."""

_FIND_TOOL = ToolSpec(
    name=FIND_TOOL,
    title="Find a tool",
    description=(
        "Finds tools by words. Say in a few words what is to be done, and get the tools that fit best, each with "
        "the schema of its arguments. Run one of them with call_tool."
    ),
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What the tool should do, in a few words."}},
        "required": ["query"],
        "additionalProperties": False,
    },
    local=True,
)
_CALL_TOOL = ToolSpec(
    name=CALL_TOOL,
    title="Call a tool",
    description="Runs a tool that find_tool has found. The arguments must fit the schema that find_tool gave.",
    parameters={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The tool's name."},
            "arguments": {"type": "object", "description": "The tool's arguments."},
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    },
    local=True,
)
_READ_RESULT = ToolSpec(
    name=READ_RESULT,
    title="Read on in a result",
    description="Reads on in a tool result that was too long to be shown whole; the cut place names call and offset.",
    parameters={
        "type": "object",
        "properties": {
            "call": {"type": "integer", "minimum": 1, "description": "The number of the call."},
            "offset": {"type": "integer", "minimum": 0, "description": "The character to begin at."},
        },
        "required": ["call", "offset"],
        "additionalProperties": False,
    },
    local=True,
)


def mode_for(asked: ToolMode | None, tokens: int, discover_above_tokens: int) -> ToolMode:
    """Give the mode of a session's tools: the one that was asked for, or by what all specs cost in the prompt (X3)."""
    return asked or (ToolMode.DISCOVER if tokens > discover_above_tokens else ToolMode.DIRECT)


def local_tools(mode: ToolMode, agents: Mapping[str, str] = NO_AGENTS) -> tuple[ToolSpec, ...]:
    """Give the local tools of a session that has tools, in the order in which the prompt shows them.

    `agents` are those that can be handed over to, with their descriptions (G1).
    """
    own = (_FIND_TOOL, _CALL_TOOL, _READ_RESULT) if mode is ToolMode.DISCOVER else (_READ_RESULT,)
    return (*own, _handoff_to(agents)) if agents else own


def _handoff_to(agents: Mapping[str, str]) -> ToolSpec:
    known = " ".join(f"{name}: {told or 'no description'}." for name, told in _in_one_line(agents))
    return ToolSpec(
        name=HANDOFF_TO,
        title="Hand over to another agent",
        description=(
            "Hands a task over to another agent and gives its answer. The agent sees the message, and as many of the "
            f"last messages as carry says. Agents: {known}"
        ),
        parameters={
            "type": "object",
            "properties": {
                "agent": {"type": "string", "enum": list(agents), "description": "The agent's name."},
                "message": {"type": "string", "minLength": 1, "description": "What the agent is to do."},
                "carry": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": MOST_CARRIED,
                    "description": "How many of the last messages the agent gets to see; 0 when left out.",
                },
            },
            "required": ["agent", "message"],
            "additionalProperties": False,
        },
        local=True,
    )


def _in_one_line(agents: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, " ".join(told.split()).rstrip(".")) for name, told in agents.items()]
