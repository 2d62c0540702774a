"""What is said of the tool port, its list, and the room that its tools take in the prompt (section 8, X3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from service.core.baseline import ToolMode
from service.core.diagnosis.findings import Code, Finding, found
from service.core.tool_port import DownServer, LeftOutTool
from service.core.visible import visible

SLOW_LIST_S = 1.0
"""Each new session waits for the list."""

CROWDED_SHARE = 1 / 3
_SHOWN_TOOLS = 5
_SHOWN_SERVERS = 5
# How the reasons of `spec_probe` begin; the finding says it of all of them.
_BY_THE_SERVER = "llama-server refuses it: "


class PortReach(StrEnum):
    """How far a look at the port came."""

    NOT_SET = "not_set"
    ANSWERS = "answers"
    AWAY = "away"
    SILENT = "silent"
    REFUSED = "refused"
    SOMETHING_ELSE = "something_else"


class ListChange(StrEnum):
    """How the port's second list differs from its first."""

    NONE = "none"
    ORDER = "order"
    CONTENT = "content"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsSize:
    """Tokens that a session's tools take in each prompt, ours among them, and the slot that they must fit in.

    `port_tokens` are those of the port's specs alone; `counted` says that the server's tokenizer counted.
    """

    mode: ToolMode
    prompt_tokens: int
    port_tokens: int
    context_tokens: int
    min_room: int
    discover_above_tokens: int
    counted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PortFacts:
    """The tool port as it was seen; `said` completes "the tool port …" where it did not give its list.

    `took_s` is the quicker of two lists, in seconds. `refused` are tools that the model server refuses.
    """

    reach: PortReach = PortReach.NOT_SET
    url: str = ""
    said: str = ""
    signs: bool = False
    tools: int = 0
    took_s: float = 0.0
    change: ListChange = ListChange.NONE
    down: tuple[DownServer, ...] = ()
    left_out: tuple[LeftOutTool, ...] = ()
    refused: tuple[LeftOutTool, ...] = ()
    size: ToolsSize | None = None


def port_findings(facts: PortFacts) -> Iterator[Finding]:
    """Say what a look at the tool port showed."""
    if facts.reach is not PortReach.ANSWERS:
        code, do = _UNREACHED[facts.reach]
        said = "No tool port is set; sessions have no tools." if facts.reach is PortReach.NOT_SET else ""
        says = said or f"The tool port at {facts.url} {facts.said.removeprefix('the tool port ')}: {_COST}"
        yield Finding(code=code, says=says, do=do.format(url=facts.url))
        return
    yield from found(facts, (_introduced, _slow, _down, _changes, _left_out, _refused, _searched, _size))


_COST = "sessions with tools can't be made, and calls fail."
_UNREACHED = {
    PortReach.NOT_SET: (Code.TOOL_PORT_NOT_SET, ""),
    PortReach.AWAY: (Code.TOOL_PORT_AWAY, "Start it, or set TURNKEEPER_TOOL_PORT_URL to where it is."),
    PortReach.SILENT: (
        Code.TOOL_PORT_SILENT,
        "Look at the port's log: GET /tools must answer from what it has at hand.",
    ),
    PortReach.REFUSED: (
        Code.TOOL_PORT_REFUSES_US,
        "Set TURNKEEPER_TOOL_PORT_TOKEN and TURNKEEPER_TOOL_PORT_SECRET to what the port expects.",
    ),
    PortReach.SOMETHING_ELSE: (
        Code.TOOL_PORT_IS_SOMETHING_ELSE,
        "Set TURNKEEPER_TOOL_PORT_URL so that {url}/tools is the list, as docs/howto/write-a-tool-port.md has it.",
    ),
}


def _introduced(facts: PortFacts) -> Finding:
    if facts.tools == 0:
        return Finding(
            code=Code.TOOL_PORT_EMPTY,
            says=f"The tool port at {facts.url} answers, but offers no tool that can be used.",
            do="Look at its list: GET /tools. Without a tool set no TURNKEEPER_TOOL_PORT_URL.",
        )
    tools = "1 tool" if facts.tools == 1 else f"{facts.tools} tools"
    return Finding(
        code=Code.TOOL_PORT_OK, says=f"{facts.url} offers {tools}; the list took {facts.took_s * 1000:.0f} ms."
    )


def _slow(facts: PortFacts) -> Finding | None:
    if facts.took_s <= SLOW_LIST_S:
        return None
    return Finding(
        code=Code.TOOL_PORT_SLOW,
        says=f"The list of tools takes {facts.took_s:.1f} s, and each new session waits for it.",
        do="Have the port keep its list at hand rather than gather it for each request.",
    )


def _down(facts: PortFacts) -> Finding | None:
    if not facts.down:
        return None
    shown = "; ".join(f"{server.name} ({visible(server.said, 200)})" for server in facts.down[:_SHOWN_SERVERS])
    more = len(facts.down) - _SHOWN_SERVERS
    return Finding(
        code=Code.TOOL_SERVERS_DOWN,
        says=(
            f"Of the servers behind the port some are down, so their tools are missing, or fail: {shown}"
            f"{f'; and {more} more' if more > 0 else ''}."
        ),
        do="Look at the port's log. `turnkeeper mcp-port --config FILE --check` starts each MCP server once.",
    )


def _changes(facts: PortFacts) -> Finding | None:
    if facts.change is ListChange.NONE:
        return None
    what = "in another order" if facts.change is ListChange.ORDER else "with other content"
    return Finding(
        code=Code.TOOL_LIST_CHANGES,
        says=(
            f"Asked twice, the port gave its list {what}. Tools are at the head of each prompt, so no session can use "
            "what llama-server has cached of another."
        ),
        do="Have the port give the same list, in the same order, as long as its tools are the same.",
    )


def _left_out(facts: PortFacts) -> Finding | None:
    if not facts.left_out:
        return None
    return Finding(
        code=Code.TOOLS_LEFT_OUT,
        says=f"Left out, and never shown to the model: {_listed(facts.left_out)}.",
        do="Mend these tools in the port; docs/howto/write-a-tool-port.md says what a tool may have.",
    )


def _refused(facts: PortFacts) -> Finding | None:
    if not facts.refused:
        return None
    return Finding(
        code=Code.TOOLS_REFUSED,
        says=f"Left out, since llama-server would refuse each request with them: {_listed(facts.refused)}.",
        do="Write the parameters of these tools with simpler JSON schema.",
    )


def _listed(tools: tuple[LeftOutTool, ...]) -> str:
    shown = "; ".join(
        f"{tool.name} ({visible(tool.reason.removeprefix(_BY_THE_SERVER), 200)})" for tool in tools[:_SHOWN_TOOLS]
    )
    return f"{shown}; and {len(tools) - _SHOWN_TOOLS} more" if len(tools) > _SHOWN_TOOLS else shown


def _searched(facts: PortFacts) -> Finding | None:
    size = facts.size
    if size is None or size.mode is not ToolMode.DISCOVER:
        return None
    return Finding(
        code=Code.TOOLS_ARE_SEARCHED,
        says=(
            f"Their specs have {_tokens(size, size.port_tokens)}, more than {size.discover_above_tokens} "
            f"(discover_above_tokens): sessions find tools by words, at {size.prompt_tokens} tokens a prompt."
        ),
    )


def _size(facts: PortFacts) -> Finding | None:
    size = facts.size
    if size is None or not size.context_tokens or not facts.tools:
        return None
    said = f"The tools take {_tokens(size, size.prompt_tokens)} of each prompt, and a slot has {size.context_tokens}"
    if size.prompt_tokens + size.min_room >= size.context_tokens:
        return Finding(code=Code.TOOLS_DO_NOT_FIT, says=f"{said}: no message fits beside them.", do=_less(size))
    if size.prompt_tokens > CROWDED_SHARE * size.context_tokens:
        return Finding(code=Code.TOOLS_CROWD_CONTEXT, says=f"{said}: little is left for the talk.", do=_less(size))
    return None


def _tokens(size: ToolsSize, tokens: int) -> str:
    return f"{tokens} tokens" if size.counted else f"about {tokens} tokens (estimated)"


def _less(size: ToolsSize) -> str:
    larger = "start llama-server with a larger --ctx-size"
    if size.mode is ToolMode.DISCOVER:
        return f"{larger.capitalize()}, or give sessions fewer tools by name."
    least = max(1, size.context_tokens // 10)
    return f"Set TURNKEEPER_DISCOVER_ABOVE_TOKENS={least}, so that tools are found by words, or {larger}."
