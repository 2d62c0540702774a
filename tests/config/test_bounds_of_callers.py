"""K3: what a caller may have by default, and that each bound can be switched off and is never negative."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.config.settings import Settings, SettingsError, load_settings
from service.core.owner_bounds import OwnerBounds

pytestmark = pytest.mark.rules("K3", "D1")

DEFAULTS = {
    "requests_per_minute": 1200,
    "requests_at_once": 256,
    "streams_at_once": 128,
    "sessions_per_owner": 10_000,
    "turns_per_owner": 256,
    "readings_per_owner": 16,
}


def test_the_defaults_bound_everything() -> None:
    assert {name: Settings.model_fields[name].default for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_bound_is_switched_off_with_nought_and_is_not_negative(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert getattr(load_settings(**{name: 0}), name) == 0
    with pytest.raises(SettingsError, match=name):
        load_settings(**{name: -1})


def test_the_bounds_of_an_owner_are_those_of_the_settings() -> None:
    settings = Settings.model_construct(None, sessions_per_owner=3, turns_per_owner=2, readings_per_owner=1)

    assert settings.owner_bounds() == OwnerBounds(sessions=3, turns=2, readings=1)
