"""Reads agent profiles from `agents.toml` (G1): `[agents.NAME]` tables, and `default = "NAME"` on top."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from service.config.settings import SettingsError
from service.config.shapes import LowerLimits, Sampling, StrictModel, ToolsWanted
from service.core.agents import AgentProfile, AgentProfiles
from service.core.baseline import Thinking


class _Profile(StrictModel):
    description: str = ""
    system: str = ""
    tools: ToolsWanted | None = None
    model: Annotated[str, Field(min_length=1)] | None = None
    sampling: Sampling | None = None
    limits: LowerLimits | None = None
    thinking: Annotated[Thinking, Field(strict=False)] | None = None


class _AgentsFile(StrictModel):
    default: str | None = None
    agents: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")], _Profile] = Field(default={})


def load_agents(path: Path | None) -> AgentProfiles:
    """Read the profiles; none without a file.

    Raises:
        SettingsError: the file can't be read, or something in it is wrong; one line says what and where.
    """
    if path is None:
        return AgentProfiles()
    try:
        file = _AgentsFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"agents file {path}: {place}: {first['msg']}") from error
    except FileNotFoundError as error:
        raise SettingsError(
            f"agents file {path} is not there: make it, or set TURNKEEPER_AGENTS_FILE to where it is"
        ) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"agents file {path} can't be read: {reason}") from error
    if file.default is not None and file.default not in file.agents:
        raise SettingsError(f"agents file {path}: default names {file.default!r}, which is no table under [agents]")
    return AgentProfiles(
        profiles={name: _profile(name, profile) for name, profile in file.agents.items()}, default=file.default
    )


def _profile(name: str, profile: _Profile) -> AgentProfile:
    tools = profile.tools or ToolsWanted()
    return AgentProfile(
        name=name,
        description=profile.description,
        system=profile.system,
        tool_names=None if tools.names is None else tuple(tools.names),
        tool_mode=tools.tool_mode(),
        model=profile.model,
        sampling=_given(profile.sampling),
        limits=_given(profile.limits),
        thinking=profile.thinking,
    )


def _given(model: StrictModel | None) -> dict[str, object]:
    return {} if model is None else model.model_dump(exclude_none=True)
