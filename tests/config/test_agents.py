"""The agents file: what it gives, and what is said of one that is wrong (G1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.config import SettingsError
from service.config.agents import load_agents
from service.core.agents import AgentProfile, AgentProfiles
from service.core.baseline import Thinking, ToolMode

pytestmark = pytest.mark.rules("G1")


def written(folder: Path, text: str) -> Path:
    path = folder / "agents.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_there_are_no_agents() -> None:
    assert load_agents(None) == AgentProfiles()


def test_a_profile_is_read_with_all_that_it_may_say(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        default = "weather"
        [agents.weather]
        description = "Knows the weather"
        system = "Be brief."
        tools = { names = ["get_weather"], mode = "direct" }
        model = "small"
        sampling = { temperature = 0.5, stop = ["x"] }
        limits = { max_tokens = 9 }
        thinking = "off"
        [agents.plain]
        """,
    )
    profiles = load_agents(path)
    assert profiles.default == "weather"
    assert profiles.profiles["weather"] == AgentProfile(
        name="weather",
        description="Knows the weather",
        system="Be brief.",
        tool_names=("get_weather",),
        tool_mode=ToolMode.DIRECT,
        model="small",
        sampling={"temperature": 0.5, "stop": ["x"]},
        limits={"max_tokens": 9},
        thinking=Thinking.OFF,
    )
    assert profiles.profiles["plain"] == AgentProfile(name="plain")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[agents.a", "can't be read"),
        ("[agents.a]\ntemperature = 1", "agents.a.temperature"),
        ('[agents.a]\nsampling = { temperature = "hot" }', "agents.a.sampling.temperature"),
        ('default = "b"\n[agents.a]', "default names 'b'"),
        ('[agents."a b"]', "agents.a b"),
        ('[agents.a]\ntools = { mode = "lazy" }', "agents.a.tools.mode"),
    ],
)
def test_a_wrong_file_stops_the_start_with_one_line_that_names_the_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        load_agents(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"missing\.toml is not there: make it, or set TURNKEEPER_AGENTS_FILE"):
        load_agents(tmp_path / "missing.toml")


def test_a_file_that_can_not_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"can't be read: Is a directory$"):
        load_agents(tmp_path)
