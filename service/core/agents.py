"""An agent profile: a named set of what a session may be made with (G1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from service.core.baseline import Thinking, ToolMode
from service.core.json_types import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    """What a profile gives to a session; None leaves a value to the settings. `tool_names` None means all."""

    name: str
    description: str = ""
    system: str = ""
    tool_names: tuple[str, ...] | None = None
    tool_mode: ToolMode | None = None
    model: str | None = None
    sampling: JsonObject = field(default_factory=dict[str, object])
    limits: JsonObject = field(default_factory=dict[str, object])
    thinking: Thinking | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfiles:
    """All profiles of a service, and which one serves sessions that name none."""

    profiles: Mapping[str, AgentProfile] = field(default_factory=dict[str, AgentProfile])
    default: str | None = None

    def get(self, name: str | None) -> AgentProfile | None:
        """Give the profile of this name, or the default one for None; None when there is none."""
        chosen = self.default if name is None else name
        return self.profiles.get(chosen) if chosen is not None else None
