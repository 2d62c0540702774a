"""What docs/howto/run-on-kubernetes.md names is there."""

from __future__ import annotations

import re
from pathlib import Path

from deploy.check_kubernetes import COMPONENTS as CHECKED_COMPONENTS
from deploy.check_kubernetes import VERSIONS
from tests.deploy.kubernetes_objects import COMPONENTS, DEPLOYMENTS, POLICIES, SERVICES, kustomization, read, rules

PAGE = (Path(__file__).parents[2] / "docs/howto/run-on-kubernetes.md").read_text(encoding="utf-8")


def test_commands_name_deployments_services_and_the_namespace_that_are_there() -> None:
    assert set(re.findall(r"deployment/([a-z-]+)", PAGE)) <= set(DEPLOYMENTS)
    assert set(re.findall(r"service/([a-z-]+)", PAGE)) <= set(SERVICES)
    assert set(re.findall(r"--namespace (\S+)", PAGE)) == {kustomization()["namespace"]}
    assert [tree["metadata"]["name"] for tree in read("namespace.yaml")] == [kustomization()["namespace"]]


def test_the_label_of_callers_is_the_one_that_the_policy_asks_for() -> None:
    (rule,) = rules("turnkeeper", "ingress")
    ((key, value),) = rule["from"][0]["namespaceSelector"]["matchLabels"].items()

    assert f"kubectl label namespace NAME {key}={value}" in PAGE


def test_the_image_is_pushed_where_it_is_looked_for() -> None:
    (image,) = kustomization()["images"]

    assert f"docker push {image['newName']}:{image['newTag']}" in PAGE


def test_components_policies_and_the_secret_are_called_as_they_are() -> None:
    (secret,) = read("secret.example.yaml")

    assert set(re.findall(r"component `([a-z-]+)`", PAGE)) == set(COMPONENTS) == set(CHECKED_COMPONENTS)
    assert set(re.findall(r"policy `([a-z-]+)`", PAGE)) <= set(POLICIES)
    assert f"a Secret named `{secret['metadata']['name']}`" in PAGE


def test_the_versions_of_kubernetes_are_those_that_are_checked() -> None:
    assert f"Kubernetes {VERSIONS[0]} to {VERSIONS[-1]}" in PAGE
    assert f"a cluster of {VERSIONS[0]} or later" in PAGE
