"""A tool of a server as the spec of a tool port (DESIGN section 8).

What servers say of their tools, and what becomes of it. A hint that is missing has the value that MCP gives it, which
is the careful one:

    readOnlyHint     destructiveHint   openWorldHint    acts_outside
    any              any               true, missing    true: it reaches others, so what it is told may get out
    true             any               false            false
    false, missing   true, missing     false            true: it changes something for good
    false, missing   false             false            false

    idempotentHint, or readOnlyHint: true               idempotent

`untrusted` is true unless the file says otherwise: the port knows nothing of what a server's results quote.
`repeatable` and `needs_approval` have no hint, and are false unless the file says otherwise. What the file says wins:
for the tool's name, then for the first pattern that fits and says it, then for the server.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from mcp_types import Tool, ToolAnnotations

from service.mcp_port.config_file import DEFAULT_TIMEOUT_MS, ServerConfig, ToolRules
from service.port_wire.answers import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A tool as the port offers it, and which tool of which server it is."""

    name: str
    server: str
    tool: str
    untrusted: bool
    timeout_s: float
    spec: JsonObject


def is_offered(config: ServerConfig, tool: str) -> bool:
    """Say whether a tool is offered: allowed, where the file allows some only, and not denied."""
    if any(fnmatchcase(tool, pattern) for pattern in config.deny):
        return False
    return config.allow is None or any(fnmatchcase(tool, pattern) for pattern in config.allow)


def offer(config: ServerConfig, tool: Tool, name: str) -> OfferedTool:
    """Give a server's tool under the name that the port offers it by."""
    rules = _rules_for(config, tool.name)
    hints = tool.annotations or ToolAnnotations()
    untrusted = True if rules.untrusted is None else rules.untrusted
    timeout_ms = rules.timeout_ms or DEFAULT_TIMEOUT_MS
    spec: dict[str, JsonValue] = {"name": name}
    title = tool.title or hints.title
    if title:
        spec["title"] = title
    spec["description"] = tool.description or title or tool.name
    spec["parameters"] = tool.input_schema
    flags = {
        "needs_approval": bool(rules.needs_approval),
        "acts_outside": _acts_outside(hints) if rules.acts_outside is None else rules.acts_outside,
        "repeatable": bool(rules.repeatable),
        "idempotent": _is_idempotent(hints) if rules.idempotent is None else rules.idempotent,
        "untrusted": untrusted,
    }
    spec.update({flag: True for flag, is_set in flags.items() if is_set})
    if rules.data_class is not None:
        spec["class"] = rules.data_class
    if timeout_ms != DEFAULT_TIMEOUT_MS:
        spec["timeout_ms"] = timeout_ms
    return OfferedTool(
        name=name,
        server=config.name,
        tool=tool.name,
        untrusted=untrusted,
        timeout_s=timeout_ms / 1000,
        spec=spec,
    )


def _acts_outside(hints: ToolAnnotations) -> bool:
    if hints.open_world_hint is not False:
        return True
    return hints.read_only_hint is not True and hints.destructive_hint is not False


def _is_idempotent(hints: ToolAnnotations) -> bool:
    return hints.idempotent_hint is True or hints.read_only_hint is True


def _rules_for(config: ServerConfig, tool: str) -> ToolRules:
    named = [rules for pattern, rules in config.tool_rules if pattern == tool]
    fitting = [rules for pattern, rules in config.tool_rules if pattern != tool and fnmatchcase(tool, pattern)]
    said: dict[str, object] = {}
    for rules in (*named, *fitting, config.rules):
        for member in ToolRules.__slots__:
            if said.get(member) is None:
                said[member] = getattr(rules, member)
    return ToolRules(**said)  # pyright: ignore[reportArgumentType]
