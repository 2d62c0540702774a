import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from service.cli.app import app
from service.cli.demo.plan import HERE, Plan, Ports, demo_plan
from service.cli.demo.welcome import WEATHER_TURN, welcome

pytestmark = pytest.mark.rules("D2")

MODEL = Path("/models/small.gguf")
PORTS = Ports(service=8000, tools=8090, llama=8080)


def plan(ports: Ports = PORTS, *, llama_url: str | None = None, model: Path | None = MODEL) -> Plan:
    return demo_plan(ports, llama_url=llama_url, model=model, data=Path("/data"))


def test_all_three_are_started_and_the_service_last() -> None:
    assert [c.name for c in plan().commands] == ["llama-server", "the example tool port", "the service"]


def test_the_service_is_told_where_the_others_are_and_where_its_data_goes() -> None:
    service = plan().commands[-1]

    assert service.arguments[-4:] == ("--host", "127.0.0.1", "--port", "8000")
    assert service.environment["TURNKEEPER_LLAMA_URL"] == "http://127.0.0.1:8080"
    assert service.environment["TURNKEEPER_TOOL_PORT_URL"] == "http://127.0.0.1:8090"
    assert service.environment["TURNKEEPER_DATABASE_URL"] == "sqlite:////data/turnkeeper.db"


def test_llama_server_gets_a_context_of_its_own_for_each_slot() -> None:
    arguments = plan().commands[0].arguments

    assert arguments[arguments.index("--parallel") + 1] == "2"
    assert arguments[arguments.index("--ctx-size") + 1] == "8192"
    assert arguments[arguments.index("--model") + 1] == str(MODEL)


def test_a_llama_server_that_runs_already_is_used_as_it_is() -> None:
    using = plan(Ports(service=8000, tools=8090, llama=None), llama_url="http://gpu:9000", model=None)

    assert [command.name for command in using.commands] == ["the example tool port", "the service"]
    assert using.commands[-1].environment["TURNKEEPER_LLAMA_URL"] == "http://gpu:9000"


def test_a_llama_server_of_its_own_needs_a_model() -> None:
    with pytest.raises(ValueError, match="needs a port and a model"):
        plan(model=None)


@pytest.mark.rules("G1")
def test_the_default_agent_has_no_tools_and_the_weather_agent_one() -> None:
    agents = tomllib.loads((HERE / "agents.toml").read_text(encoding="utf-8"))

    assert agents["default"] == "plain"
    assert agents["agents"]["plain"]["tools"] == {"names": []}
    assert agents["agents"]["weather"]["tools"] == {"names": ["get_weather"]}


def test_with_mcp_servers_their_port_stands_in_the_place_of_the_example_port() -> None:
    with_mcp = demo_plan(PORTS, llama_url=None, model=MODEL, data=Path("/data"), mcp=Path("/srv/mcp.json"))

    assert [c.name for c in with_mcp.commands] == ["llama-server", "the MCP tool port", "the service"]
    arguments = with_mcp.commands[1].arguments
    assert arguments[-7:] == ("mcp-port", "--config", "/srv/mcp.json", "--host", "127.0.0.1", "--port", "8090")
    agents = tomllib.loads(Path(with_mcp.commands[-1].environment["TURNKEEPER_AGENTS_FILE"]).read_text("utf-8"))
    # All tools that there are.
    assert "tools" not in agents["agents"][agents["default"]]
    text = welcome(with_mcp, "/data", "turnkeeper")
    assert "MCP servers of /srv/mcp.json; http://127.0.0.1:8090/tools lists them" in text
    assert "get_weather" not in text
    assert "Paris" not in text


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{}", 'it needs a member "mcpServers"'),
        ('{"mcpServers": {"a": {}}}', 'mcpServers.a needs either a "command" or a "url"'),
    ],
)
def test_a_file_of_mcp_servers_that_is_wrong_is_told_before_anything_is_started(
    text: str, fault: str, tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text, encoding="utf-8")

    ended = CliRunner().invoke(app, ["demo", "--mcp", str(file), "--data", str(tmp_path / "data")])

    assert ended.exit_code == 2
    assert ended.stderr.startswith(f"turnkeeper: {file}: {fault}")
    assert not (tmp_path / "data").exists()


def test_the_welcome_names_all_addresses_and_has_commands_to_paste() -> None:
    text = welcome(plan(), "/data", ".venv/bin/turnkeeper")

    for part in (
        ".venv/bin/turnkeeper chat --url http://127.0.0.1:8000",
        "http://127.0.0.1:8000",
        "http://127.0.0.1:8080",
        "http://127.0.0.1:8090",
        "/data",
    ):
        assert part in text
    assert """-d '{"agent":"weather"}'""" in text
    assert '"on_tool_limit":"conclude"' in text
    assert "Say hello." in text


def test_the_weather_turn_calls_one_tool_and_then_answers() -> None:
    assert WEATHER_TURN["tool_choice"] == "required"
    assert WEATHER_TURN["limits"] == {"tool_iterations": 1}
