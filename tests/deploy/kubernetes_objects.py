"""The Kubernetes manifests as the tests look at them: parsed, by kind and by name. Below: deploy/kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "deploy/kubernetes"
COMPONENTS = ("gpu", "ingress")

Tree = dict[str, Any]


def read(name: str) -> list[Tree]:
    return [tree for tree in yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")) if tree is not None]


def kustomization(name: str = ".") -> Tree:
    (only,) = read(f"{name}/kustomization.yaml")
    return only


# What kubectl applies, but for the names, labels and images that it puts in.
OBJECTS = [tree for name in kustomization()["resources"] for tree in read(name)]
WITH_COMPONENTS = [
    *OBJECTS,
    *(
        tree
        for name in COMPONENTS
        for file in kustomization(name).get("resources", [])
        for tree in read(f"{name}/{file}")
    ),
]


def of_kind(kind: str) -> dict[str, Tree]:
    return {tree["metadata"]["name"]: tree for tree in WITH_COMPONENTS if tree["kind"] == kind}


DEPLOYMENTS, SERVICES, POLICIES = of_kind("Deployment"), of_kind("Service"), of_kind("NetworkPolicy")


def pod(name: str) -> Tree:
    return DEPLOYMENTS[name]["spec"]["template"]["spec"]


def container(name: str) -> Tree:
    (only,) = pod(name)["containers"]
    return only


def labels(name: str) -> Mapping[str, str]:
    return DEPLOYMENTS[name]["spec"]["template"]["metadata"]["labels"]


def selects(selector: Tree, chosen: Mapping[str, str]) -> bool:
    exact = all(chosen.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return exact and all(chosen.get(one["key"]) in one["values"] for one in selector.get("matchExpressions", []))


def policies_of(name: str) -> list[Tree]:
    return [tree["spec"] for tree in POLICIES.values() if selects(tree["spec"]["podSelector"], labels(name))]


def rules(name: str, way: str) -> list[Tree]:
    return [rule for policy in policies_of(name) for rule in policy.get(way, [])]


def port_numbers(name: str) -> dict[str, int]:
    return {port["name"]: port["containerPort"] for port in container(name)["ports"]}
