"""What deploy/kubernetes promises of its kustomization: all files are in it, and components change what is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from service.config.settings import Settings
from tests.deploy.kubernetes_objects import (
    COMPONENTS,
    DEPLOYMENTS,
    FOLDER,
    SERVICES,
    container,
    kustomization,
    of_kind,
    read,
)


def test_the_slots_of_llama_server_are_said_and_its_variables_come_from_one_place() -> None:
    (generated,) = kustomization()["configMapGenerator"]
    values = dict(literal.split("=", 1) for literal in generated["literals"])
    arguments = container("llama-server")["args"]

    assert container("llama-server")["envFrom"] == [{"configMapRef": {"name": generated["name"]}}]
    assert {"--parallel", "--ctx-size", "--cache-ram", "--jinja", "--metrics"} <= set(arguments)
    assert set(re.findall(r"\$\((\w+)\)", " ".join(arguments))) == set(values)


def test_no_image_is_the_latest_and_the_one_of_the_service_is_named_in_one_place() -> None:
    (image,) = kustomization()["images"]
    built_here = [name for name in DEPLOYMENTS if container(name)["image"] == image["name"]]

    assert built_here == ["turnkeeper", "example-port"]
    assert image["newTag"] != "latest"
    assert re.fullmatch(r"ghcr\.io/ggml-org/llama\.cpp:(?!latest)\w+", container("llama-server")["image"])


def file_names() -> Iterator[str]:
    for path in sorted(FOLDER.rglob("*.yaml")):
        if path.name not in ("kustomization.yaml", "secret.example.yaml"):
            yield path.relative_to(FOLDER).as_posix()


def test_each_file_is_part_of_what_is_applied_or_of_a_component() -> None:
    listed = set(kustomization()["resources"])
    for name in COMPONENTS:
        component = kustomization(name)
        listed |= {f"{name}/{file}" for file in component.get("resources", [])}
        listed |= {f"{name}/{patch['path']}" for patch in component.get("patches", [])}

    assert listed == set(file_names())


def test_the_component_for_a_gpu_changes_what_is_there_and_takes_a_gpu() -> None:
    component = kustomization("gpu")
    (patch,) = (tree for one in component["patches"] for tree in read(f"gpu/{one['path']}"))
    (changed,) = patch["spec"]["template"]["spec"]["containers"]

    target = DEPLOYMENTS[patch["metadata"]["name"]]
    assert (patch["apiVersion"], patch["kind"]) == (target["apiVersion"], target["kind"])
    assert changed["name"] == container(patch["metadata"]["name"])["name"]
    assert changed["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert [image["name"] for image in component["images"]] == [container("llama-server")["image"].split(":")[0]]


def test_the_sample_for_an_ingress_passes_events_on_and_lets_uploads_in() -> None:
    ingress = of_kind("Ingress")["turnkeeper"]
    said = {key.rpartition("/")[2]: value for key, value in ingress["metadata"]["annotations"].items()}
    (rule,) = ingress["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]

    assert said["proxy-buffering"] == "off"
    assert int(said["proxy-read-timeout"]) > Settings.model_fields["sse_ping_s"].default
    assert int(said["proxy-body-size"].removesuffix("m")) << 20 >= Settings.model_fields["max_upload_bytes"].default
    assert backend["port"]["name"] in [port["name"] for port in SERVICES[backend["name"]]["spec"]["ports"]]
    assert ingress["spec"]["tls"][0]["hosts"] == [rule["host"]]
