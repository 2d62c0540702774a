"""What deploy/kubernetes promises of the network: names lead to their pods, and nobody reaches more than it needs."""

from __future__ import annotations

import pytest

from tests.deploy.kubernetes_objects import (
    DEPLOYMENTS,
    POLICIES,
    SERVICES,
    container,
    labels,
    policies_of,
    port_numbers,
    rules,
    selects,
)


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_leads_to_the_port_of_its_pod(name: str) -> None:
    spec = SERVICES[name]["spec"]

    assert spec.get("type", "ClusterIP") == "ClusterIP"
    assert [pod for pod in DEPLOYMENTS if selects({"matchLabels": spec["selector"]}, labels(pod))] == [name]
    (port,) = spec["ports"]
    assert port["port"] == port_numbers(name)[port["targetPort"]]


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_each_deployment_selects_its_own_pods(name: str) -> None:
    selector = DEPLOYMENTS[name]["spec"]["selector"]

    assert [pod for pod in DEPLOYMENTS if selects(selector, labels(pod))] == [name]


def test_the_service_finds_llama_server_and_the_tool_port_where_they_are() -> None:
    values = {variable["name"]: variable.get("value") for variable in container("turnkeeper")["env"]}

    assert (
        values["TURNKEEPER_LLAMA_URL"] == f"http://llama-server:{SERVICES['llama-server']['spec']['ports'][0]['port']}"
    )
    assert (
        values["TURNKEEPER_TOOL_PORT_URL"]
        == f"http://example-port:{SERVICES['example-port']['spec']['ports'][0]['port']}"
    )


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_nobody_talks_to_a_pod_or_is_talked_to_by_it_unless_a_policy_says_so(name: str) -> None:
    assert {way for policy in policies_of(name) for way in policy["policyTypes"]} == {"Ingress", "Egress"}
    assert all(rule.get("from") and rule.get("ports") for rule in rules(name, "ingress"))
    assert all(rule.get("to") and rule.get("ports") for rule in rules(name, "egress"))


def test_a_pod_that_no_other_policy_names_is_closed_too() -> None:
    assert POLICIES["nothing-else"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


@pytest.mark.parametrize("name", ["llama-server", "example-port"])
def test_llama_server_and_the_tool_port_are_reached_by_the_service_only(name: str) -> None:
    (rule,) = rules(name, "ingress")
    (peer,) = rule["from"]

    assert list(peer) == ["podSelector"]
    assert [pod for pod in DEPLOYMENTS if selects(peer["podSelector"], labels(pod))] == ["turnkeeper"]
    assert [port["port"] for port in rule["ports"]] == list(port_numbers(name))


@pytest.mark.rules("K4")
def test_the_service_reaches_llama_server_the_tool_port_and_names_only() -> None:
    reached = {
        (pod, port["port"])
        for rule in rules("turnkeeper", "egress")
        for peer in rule["to"]
        for pod in DEPLOYMENTS
        if "namespaceSelector" not in peer and selects(peer["podSelector"], labels(pod))
        for port in rule["ports"]
    }

    assert reached == {("llama-server", 8080), ("example-port", 8090)}
    outside = [rule for rule in rules("turnkeeper", "egress") for peer in rule["to"] if "namespaceSelector" in peer]
    assert [port["port"] for rule in outside for port in rule["ports"]] == [53, 53]
    assert not rules("example-port", "egress")


def test_callers_come_from_namespaces_that_were_labelled_for_it() -> None:
    (rule,) = rules("turnkeeper", "ingress")
    (peer,) = rule["from"]

    assert peer == {"namespaceSelector": {"matchLabels": {"turnkeeper-caller": "true"}}}
    assert [port["port"] for port in rule["ports"]] == list(port_numbers("turnkeeper"))


def test_llama_server_fetches_from_the_internet_and_not_from_the_network_within() -> None:
    blocks = [peer["ipBlock"] for rule in rules("llama-server", "egress") for peer in rule["to"] if "ipBlock" in peer]

    assert {block["cidr"] for block in blocks} == {"0.0.0.0/0", "::/0"}
    left_out = {network for block in blocks for network in block["except"]}
    assert {"10.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fe80::/10"} <= left_out
