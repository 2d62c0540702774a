"""What an operator sets: settings (D1) and agent profiles (G1)."""

from __future__ import annotations

from service.config.settings import (
    Settings,
    SettingsError,
    load_settings,
    unknown_variables,
    user_data_folder,
)

__all__ = ["Settings", "SettingsError", "load_settings", "unknown_variables", "user_data_folder"]
