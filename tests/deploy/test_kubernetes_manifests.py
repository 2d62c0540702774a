"""What deploy/kubernetes promises of each pod: confined, bounded, watched, and without a secret in its manifest.

That the fields are Kubernetes' own is held against its schemas by `make check-deploy`.
"""

from __future__ import annotations

import re

import pytest

from service.config.settings import ENV_PREFIX, Settings, SettingsError, load_settings
from service.web.origins import AllowedNames
from tests.deploy.kubernetes_objects import (
    DEPLOYMENTS,
    container,
    labels,
    of_kind,
    pod,
    port_numbers,
    read,
    selects,
)


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_each_pod_is_confined(name: str) -> None:
    assert pod(name)["automountServiceAccountToken"] is False
    outer, inner = pod(name)["securityContext"], container(name)["securityContext"]
    assert outer["runAsNonRoot"] is True
    assert outer["runAsUser"] == 10001
    assert outer["seccompProfile"] == {"type": "RuntimeDefault"}
    assert inner["allowPrivilegeEscalation"] is False
    assert inner["readOnlyRootFilesystem"] is True
    assert inner["capabilities"] == {"drop": ["ALL"]}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod(name))
    assert all({"emptyDir", "persistentVolumeClaim"} & set(volume) for volume in pod(name)["volumes"])


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_each_pod_is_bounded_and_watched(name: str) -> None:
    assert {"cpu", "memory"} <= set(container(name)["resources"]["requests"])
    assert "memory" in container(name)["resources"]["limits"]
    assert all(volume["emptyDir"]["sizeLimit"] for volume in pod(name)["volumes"] if "emptyDir" in volume)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container(name)[probe]["httpGet"]["port"] in port_numbers(name)


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_no_variable_that_the_cluster_makes_of_a_service_is_taken_for_a_setting(name: str) -> None:
    assert pod(name)["enableServiceLinks"] is False


def test_a_write_can_go_to_mounted_folders_only_and_each_mount_has_its_volume() -> None:
    for name in DEPLOYMENTS:
        volumes = {volume["name"]: volume for volume in pod(name)["volumes"]}
        assert {mount["name"] for mount in container(name)["volumeMounts"]} == set(volumes)
        claims = {
            volume["persistentVolumeClaim"]["claimName"] for volume in volumes.values() if "emptyDir" not in volume
        }
        assert claims <= set(of_kind("PersistentVolumeClaim"))
    assert {mount["mountPath"] for mount in container("turnkeeper")["volumeMounts"]} == {"/data", "/tmp"}


@pytest.mark.rules("S2")
def test_the_old_pod_ends_before_a_new_one_opens_the_same_store() -> None:
    spec = DEPLOYMENTS["turnkeeper"]["spec"]

    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "Recreate"}


@pytest.mark.rules("H8")
def test_a_stop_waits_longer_than_turns_are_drained() -> None:
    assert pod("turnkeeper")["terminationGracePeriodSeconds"] > Settings.model_fields["drain_s"].default + 5


def test_files_of_keys_are_not_opened_to_the_group_at_each_start() -> None:
    assert pod("turnkeeper")["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"


def test_uploads_of_one_owner_fit_into_the_folder_for_them() -> None:
    (folder,) = (volume["emptyDir"] for volume in pod("turnkeeper")["volumes"] if volume["name"] == "tmp")
    fields = Settings.model_fields

    gib = int(folder["sizeLimit"].removesuffix("Gi"))
    assert gib << 30 >= fields["readings_per_owner"].default * fields["max_upload_bytes"].default


def test_each_variable_of_the_service_is_a_setting() -> None:
    names = [variable["name"] for variable in container("turnkeeper")["env"]]

    assert names
    assert [name for name in names if name.removeprefix(ENV_PREFIX).lower() not in Settings.model_fields] == []


def test_no_secret_stands_in_a_manifest() -> None:
    (example,) = read("secret.example.yaml")
    secret = re.compile("key|token|secret|password", re.IGNORECASE)
    for name in DEPLOYMENTS:
        for variable in container(name)["env"]:
            if not secret.search(variable["name"]):
                continue
            assert "value" not in variable
            source = variable["valueFrom"]["secretKeyRef"]
            assert source["name"] == example["metadata"]["name"]
            assert source["key"] in example["stringData"]
    assert not of_kind("Secret")


@pytest.mark.parametrize("key", ["llama-api-key", "tool-port-token", "tool-port-secret"])
def test_the_service_does_not_start_with_a_value_that_stands_in_the_example(key: str) -> None:
    (example,) = read("secret.example.yaml")

    with pytest.raises(SettingsError):
        load_settings(**{key.replace("-", "_"): example["stringData"][key]})


@pytest.mark.rules("K1")
@pytest.mark.parametrize("probe", ["startupProbe", "livenessProbe", "readinessProbe"])
def test_probes_are_answered_whatever_hosts_are_allowed_and_whether_or_not_the_model_is_there(probe: str) -> None:
    asked = container("turnkeeper")[probe]["httpGet"]
    (host,) = (header["value"] for header in asked["httpHeaders"] if header["name"] == "Host")

    assert asked["path"] == "/livez"
    assert AllowedNames.of("0.0.0.0", ["turnkeeper.example.com"], []).is_our_host(host)


def test_the_one_pod_may_be_moved_when_a_node_is_drained() -> None:
    budget = of_kind("PodDisruptionBudget")["turnkeeper"]["spec"]

    assert budget["maxUnavailable"] == 1
    assert [name for name in DEPLOYMENTS if selects(budget["selector"], labels(name))] == ["turnkeeper"]
