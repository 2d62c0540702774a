"""The file that MCP clients share, with a few members of our own for each server.

    {"mcpServers": {
      "files": {"command": "npx", "args": ["-y", "…"], "env": {"TOKEN": "${FILES_TOKEN}"}, "cwd": "/srv"},
      "web":   {"url": "https://…/mcp", "headers": {"Authorization": "Bearer ${WEB_TOKEN}"}}
    }}

Ours, all optional: `allow` and `deny` are lists of patterns of tool names (`*` and `?`); `needs_approval`, `class`,
`untrusted`, `acts_outside`, `repeatable`, `idempotent` and `timeout_ms` hold for all tools of the server, and `tools`
has the same for tools by name or pattern; `start_timeout_ms` is how long it may take to start. `disabled` leaves a
server out. What other clients write for their own use is passed over; what is neither theirs nor ours is a mistake.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from service.mcp_port.variables import MissingVariable, filled_in

DEFAULT_START_MS = 60_000
DEFAULT_TIMEOUT_MS = 120_000

_OF_OTHERS = frozenset({"type", "transport", "timeout", "alwaysAllow", "autoApprove", "description", "trust", "icon"})
_ELSEWHERE = {
    "serverUrl": 'is called "url" here',
    "httpUrl": 'is called "url" here',
    "enabled": 'is called "disabled" here, with the other value',
    "includeTools": 'is called "allow" here',
    "excludeTools": 'is called "deny" here',
    "disabledTools": 'is called "deny" here',
    "envFile": 'is not read; name its variables in "env", as "TOKEN": "${TOKEN}"',
    "auth": 'is not done here; put a token into "headers"',
    "oauth": 'is not done here; put a token into "headers"',
}
"""Members of other clients that would change what a server is or does, and what to write for them."""

_STDIO_TYPES = frozenset({"stdio"})
_HTTP_TYPES = frozenset({"http", "streamable-http", "streamableHttp", "streamable_http"})


class ConfigError(ValueError):
    """The file is wrong; the text is one line that says where and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioServer:
    """A server that is a program; `env` are the variables that it gets beside the few that programs need."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str]
    cwd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """A server at an address, over Streamable HTTP."""

    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """What the file says of tools; None leaves it to what the server says, or to the port's default."""

    needs_approval: bool | None = None
    data_class: str | None = None
    untrusted: bool | None = None
    acts_outside: bool | None = None
    repeatable: bool | None = None
    idempotent: bool | None = None
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """One server: how to reach it, which tools of it to offer, and what holds for them.

    `allow` None offers all. `rules` hold for all its tools, `tool_rules` for those whose name or pattern they stand
    under, in the order of the file.
    """

    name: str
    transport: StdioServer | HttpServer
    start_timeout_s: float = DEFAULT_START_MS / 1000
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    rules: ToolRules = ToolRules()
    tool_rules: tuple[tuple[str, ToolRules], ...] = ()


class _Rules(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    needs_approval: bool | None = None
    data_class: Literal["public", "internal", "secret"] | None = Field(None, alias="class")
    untrusted: bool | None = None
    acts_outside: bool | None = None
    repeatable: bool | None = None
    idempotent: bool | None = None
    timeout_ms: Annotated[int, Field(ge=1000, le=3_600_000)] | None = None

    def to_rules(self) -> ToolRules:
        return ToolRules(**{name: getattr(self, name) for name in ToolRules.__slots__})


class _Server(_Rules):
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    disabled: bool = False
    allow: list[str] | None = None
    deny: list[str] = []
    tools: dict[str, _Rules] = {}
    start_timeout_ms: Annotated[int, Field(ge=1000, le=600_000)] = DEFAULT_START_MS


def load_config(file: Path, variables: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    """Read the file; give its servers in their order, those that are disabled left out.

    Raises:
        ConfigError: it can't be read, or something in it is wrong.
    """
    try:
        # Some editors begin a file with a mark that JSON knows nothing of.
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise ConfigError(f"{file} can't be read: {reason}") from error
    try:
        return read_config(text, variables)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error


def read_config(text: str, variables: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    """Read the file's text.

    Raises:
        ConfigError: something in it is wrong.
    """
    try:
        whole: object = json.loads(text, object_pairs_hook=_members)
    except ConfigError:
        raise
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"this is no JSON: {error}") from error
    servers: Any = whole.get("mcpServers") if isinstance(whole, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not isinstance(servers, dict):
        raise ConfigError('it needs a member "mcpServers", an object with a server under each name')
    found = [_server(str(name), members, variables) for name, members in servers.items()]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return tuple(server for server in found if server is not None)


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"{twice!r} stands twice in one object, and only one of both would count")
    return members


def _server(name: str, members: object, variables: Mapping[str, str]) -> ServerConfig | None:
    _check_name(name)
    if not isinstance(members, dict):
        raise ConfigError(f"mcpServers.{name} should be an object")
    given: dict[str, Any] = {str(key): value for key, value in members.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    kind = given.get("type", given.get("transport"))
    try:
        server = _Server.model_validate({key: value for key, value in given.items() if key not in _OF_OTHERS})
    except ValidationError as error:
        raise ConfigError(_one_line(name, error)) from error
    if server.disabled:
        return None
    try:
        transport = _transport(name, server, kind, variables)
    except MissingVariable as missing:
        raise ConfigError(f"mcpServers.{name} {missing}") from missing
    return ServerConfig(
        name=name,
        transport=transport,
        start_timeout_s=server.start_timeout_ms / 1000,
        allow=None if server.allow is None else tuple(server.allow),
        deny=tuple(server.deny),
        rules=server.to_rules(),
        tool_rules=tuple((pattern, rules.to_rules()) for pattern, rules in server.tools.items()),
    )


def _check_name(name: str) -> None:
    # Two underscores part it from the tool's name.
    usable = name.isascii() and all(character.isalnum() or character in "_-" for character in name)
    if not usable or "__" in name or name.endswith("_") or not 1 <= len(name) <= 32:
        raise ConfigError(
            f"mcpServers.{name}: a server's name has 1 to 32 letters, digits, - and _ of ASCII, no two _ in a row and "
            "none at its end, since it begins the names of its tools"
        )


def _transport(name: str, server: _Server, kind: object, variables: Mapping[str, str]) -> StdioServer | HttpServer:
    if kind == "sse":
        raise ConfigError(
            f'mcpServers.{name} has the type "sse", the old transport; use the server\'s address for Streamable HTTP '
            '(mostly …/mcp) and the type "http"'
        )
    if kind is not None and kind not in _STDIO_TYPES | _HTTP_TYPES:
        raise ConfigError(f'mcpServers.{name}.type should be "stdio" or "http"')
    if (server.command is None) == (server.url is None):
        raise ConfigError(f'mcpServers.{name} needs either a "command" or a "url"')
    if server.command is not None:
        if kind in _HTTP_TYPES:
            raise ConfigError(f'mcpServers.{name} has a "command", and the type of a server with a "url"')
        return StdioServer(
            command=filled_in(server.command, variables),
            args=tuple(filled_in(argument, variables) for argument in server.args),
            env={key: filled_in(value, variables) for key, value in server.env.items()},
            cwd=None if server.cwd is None else filled_in(server.cwd, variables),
        )
    assert server.url is not None  # one of both is there
    url = filled_in(server.url, variables)
    if kind in _STDIO_TYPES or not url.startswith(("http://", "https://")):
        raise ConfigError(
            f'mcpServers.{name}.url should be an address like http://127.0.0.1:9000/mcp, of the type "http"'
        )
    headers = {key: filled_in(value, variables) for key, value in server.headers.items()}
    for key, value in headers.items():
        if not all(" " <= character <= "~" for character in key + value):
            raise ConfigError(f"mcpServers.{name}.headers.{key} should be ASCII without line breaks")
    return HttpServer(url=url, headers=headers)


def _one_line(name: str, error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(["mcpServers", name, *map(str, first["loc"])])
    if first["type"] == "extra_forbidden":
        elsewhere = _ELSEWHERE.get(str(first["loc"][-1]))
        if elsewhere is not None:
            return f"{place} {elsewhere}"
        return f"{place} is no member that is known here; look for a slip of the pen"
    return f"{place}: {first['msg']}"
