"""Where the value of each setting came from, for `turnkeeper config` (D1)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from pydantic_settings import EnvSettingsSource, TomlConfigSettingsSource

from service.config.settings import CONFIG_FILE, ENV_PREFIX, Settings


class Origin(StrEnum):
    """A source of settings."""

    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


def origins() -> Mapping[str, Origin]:
    """Say for each setting which source has the last word on it; the command line's are not looked at.

    The settings must have been loaded before: what is wrong in a source is not told here.
    """
    from_environment = EnvSettingsSource(Settings)()
    from_file = TomlConfigSettingsSource(Settings)()
    return {
        name: Origin.ENVIRONMENT if name in from_environment else Origin.FILE if name in from_file else Origin.DEFAULT
        for name in Settings.model_fields
    }


def variable_of(name: str) -> str:
    """Give the name of the environment's variable for a setting."""
    return f"{ENV_PREFIX}{name.upper()}"


def config_file() -> Path:
    """Give the place where the file of settings is looked for."""
    return Path(CONFIG_FILE).absolute()
