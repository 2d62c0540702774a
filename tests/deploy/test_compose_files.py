"""What compose.yaml promises: nothing is open to the network, writable or unbounded, and variables are explained."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.adapters.prometheus import CATALOGUE, Kind
from service.config.settings import Settings
from service.mcp_port.command import SECRET_VARIABLE, TOKEN_VARIABLE

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
GPU = (ROOT / "compose.gpu.yaml").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE)["services"]
DASHBOARD: dict[str, Any] = json.loads(
    (ROOT / "deploy/monitoring/grafana/dashboards/turnkeeper.json").read_text(encoding="utf-8")
)
QUERIES: list[str] = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
READ_BY_COMPOSE = {"COMPOSE_FILE", "COMPOSE_PROFILES"}


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_confined_bounded_and_watched(name: str) -> None:
    service = SERVICES[name]

    assert service["restart"] == "unless-stopped"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert {"max-size", "max-file"} <= set(service["logging"]["options"])
    assert service["healthcheck"]["test"]
    assert not re.search(r":latest\b", service["image"])


def test_ports_are_published_on_loopback_only_and_the_tool_port_on_none() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}

    assert set(published) == {"turnkeeper", "grafana"}
    for ports in published.values():
        assert all(re.match(r"(\$\{PUBLISH_ADDRESS:-127\.0\.0\.1\}|127\.0\.0\.1):", port) for port in ports)


def test_the_mcp_port_is_there_when_its_comment_is_taken_away_and_as_confined_as_the_others() -> None:
    block = re.search(r"^  # mcp-port:\n(?:  #   .*\n)+", COMPOSE, re.MULTILINE)
    assert block is not None
    with_it = COMPOSE.replace(block[0], re.sub(r"^  # ", "  ", block[0], flags=re.MULTILINE))
    service: dict[str, Any] = yaml.safe_load(with_it)["services"]["mcp-port"]

    example = SERVICES["example-port"]
    same = ("restart", "read_only", "cap_drop", "security_opt", "logging", "build", "image", "init", "networks")
    assert {name: service[name] for name in same} == {name: example[name] for name in same}
    assert service["healthcheck"]["test"] == example["healthcheck"]["test"]
    words = [*service["entrypoint"], *service["command"]]
    assert words[:4] == ["turnkeeper", "mcp-port", "--config", "/etc/turnkeeper/mcp.json"]
    assert set(service["environment"]) == {TOKEN_VARIABLE, SECRET_VARIABLE}
    assert "ports" not in service


def test_the_slots_of_llama_server_are_said() -> None:
    assert {"--parallel", "--ctx-size", "--metrics"} <= set(SERVICES["llama-server"]["command"])


def test_a_stop_waits_longer_than_turns_are_drained() -> None:
    grace_s = int(SERVICES["turnkeeper"]["stop_grace_period"].removesuffix("s"))

    assert grace_s > Settings.model_fields["drain_s"].default + 5


def test_each_variable_is_explained_and_no_other() -> None:
    used = set(re.findall(r"\$\{(\w+)", COMPOSE + GPU))
    explained = set(re.findall(r"^#?([A-Z_]+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE))

    assert explained - READ_BY_COMPOSE == used


def test_the_dashboard_asks_for_metrics_that_exist() -> None:
    known = {
        f"{metric.name}{end}"
        for metric in CATALOGUE
        for end in (("_bucket", "_count", "_sum") if metric.kind is Kind.HISTOGRAM else ("",))
    }
    asked = {name for query in QUERIES for name in re.findall(r"turnkeeper_\w+", query)}

    assert asked
    assert asked - known == set()


def test_the_dashboard_asks_for_values_that_the_labels_have() -> None:
    labels = {metric.name: metric.labels for metric in CATALOGUE}
    conditions = [found for query in QUERIES for found in re.findall(r"(turnkeeper_\w+)\{([^}]*)\}", query)]

    assert conditions
    for name, condition in conditions:
        for label, values in re.findall(r'(\w+)(?:=~|!=|=)"([^"]*)"', condition):
            assert set(values.split("|")) <= set(labels[name][label]), (name, condition)


def test_the_dashboard_shows_all_metrics_but_the_build() -> None:
    asked = " ".join(QUERIES)

    assert [metric.name for metric in CATALOGUE if metric.name not in asked] == ["turnkeeper_build_info"]


def test_no_panel_of_the_dashboard_lies_on_another() -> None:
    cells = [
        (place["x"] + x, place["y"] + y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["w"])
        for y in range(place["h"])
    ]

    assert len(cells) == len(set(cells))
    assert all(x < 24 for x, _ in cells)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_prometheus_scrapes_the_service_with_the_key_that_its_container_makes() -> None:
    scraped = yaml.safe_load((ROOT / "deploy/monitoring/prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    key_file = next(job for job in scraped if job["job_name"] == "turnkeeper")["authorization"]["credentials_file"]

    assert key_file == SERVICES["turnkeeper"]["environment"]["METRICS_KEY_FILE"]
