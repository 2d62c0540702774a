"""The units of `deploy/systemd`: systemd finds no fault in them, they are closed, and they fit the settings."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from service.config.settings import ENV_PREFIX, Settings
from tests.proxy.programs import program

UNITS = Path(__file__).parents[2] / "deploy/systemd"
NAMES = sorted(path.name for path in UNITS.iterdir() if path.suffix in {".service", ".timer"})
DROP_IN = UNITS / "llama-server-gpu.conf"
# What systemd's own units of a machine are for: those here begin behind `sysinit.target`.
OF_THE_SYSTEM = Path("/usr/lib/systemd/system")


def analyzed(*words: str) -> subprocess.CompletedProcess[str]:
    """Ask `systemd-analyze`, which needs no systemd that runs."""
    command = [program("systemd-analyze", "systemd"), *words]
    return subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def values(name: str, key: str) -> list[str]:
    text = (UNITS / name).read_text(encoding="utf-8")
    return re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)


def value(name: str, key: str) -> str:
    (found,) = values(name, key)
    return found


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine's tree that has the units, and the programs that they start."""
    shutil.copytree(OF_THE_SYSTEM, tmp_path / OF_THE_SYSTEM.relative_to("/"), symlinks=True)
    units = tmp_path / "etc/systemd/system"
    units.mkdir(parents=True)
    for name in NAMES:
        shutil.copy(UNITS / name, units)
        for line in values(name, "ExecStart(?:Post)?"):
            started = tmp_path / line.split()[0].lstrip("/")
            started.parent.mkdir(parents=True, exist_ok=True)
            started.touch(mode=0o755)
    return tmp_path


def faults(machine: Path) -> str:
    told = analyzed("verify", f"--root={machine}", *NAMES)
    return told.stdout or f"exit code {told.returncode}" * (told.returncode != 0)


def test_systemd_finds_no_fault_in_the_units(machine: Path) -> None:
    assert len(NAMES) == 4
    assert faults(machine) == ""


def test_systemd_finds_no_fault_in_what_a_gpu_needs(machine: Path) -> None:
    folder = machine / "etc/systemd/system/llama-server.service.d"
    folder.mkdir()
    shutil.copy(DROP_IN, folder / "gpu.conf")

    assert faults(machine) == ""


@pytest.mark.parametrize(
    ("name", "tenths"), [("turnkeeper.service", 15), ("llama-server.service", 15), ("turnkeeper-backup.service", 10)]
)
def test_a_unit_is_closed_to_what_it_does_not_need(name: str, tenths: int) -> None:
    told = analyzed("security", "--offline=true", "--no-pager", f"--threshold={tenths}", str(UNITS / name))

    assert told.returncode == 0, told.stdout


@pytest.mark.rules("H8")
def test_a_stop_waits_longer_than_turns_are_drained() -> None:
    assert int(value("turnkeeper.service", "TimeoutStopSec")) > Settings.model_fields["drain_s"].default + 5
    assert value("turnkeeper.service", "KillSignal") == "SIGTERM"


def test_there_are_files_for_twice_as_many_connections_as_are_taken() -> None:
    connections = Settings.model_fields["max_connections"].default

    assert int(value("turnkeeper.service", "LimitNOFILE")) > 2 * connections


@pytest.mark.rules("D2")
@pytest.mark.parametrize("name", ["turnkeeper.service", "llama-server.service"])
def test_a_service_is_started_again_for_ever(name: str) -> None:
    assert value(name, "Restart") == "on-failure"
    assert value(name, "StartLimitIntervalSec") == "0"


def test_turnkeeper_does_not_stop_with_llama_server() -> None:
    assert values("turnkeeper.service", "(?:Requires|BindsTo|Requisite|PartOf)") == []
    assert "llama-server.service" in value("turnkeeper.service", "Wants").split()


def variables(example: str) -> list[str]:
    return re.findall(r"^#?([A-Z_]+)=", (UNITS / example).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.rules("D1")
def test_each_variable_of_the_example_is_a_setting() -> None:
    known = {f"{ENV_PREFIX}{name.upper()}" for name in Settings.model_fields}
    named = variables("turnkeeper.env.example")

    assert named
    assert set(named) - known == set()


def test_the_store_of_the_example_is_in_the_folder_that_the_units_may_write() -> None:
    text = (UNITS / "turnkeeper.env.example").read_text(encoding="utf-8")
    (store,) = re.findall(r"^TURNKEEPER_DATABASE_URL=sqlite:///(.*)$", text, re.MULTILINE)

    for name in ("turnkeeper.service", "turnkeeper-backup.service"):
        assert Path(store).parent == Path("/var/lib") / value(name, "StateDirectory")


def test_old_backups_go_only_behind_a_new_one() -> None:
    folder = value("turnkeeper-backup.service", "ReadWritePaths")

    assert value("turnkeeper-backup.service", "ExecStart").endswith(f" backup {folder}")
    assert value("turnkeeper-backup.service", "ExecStartPost").startswith(f"/usr/bin/find {folder} ")
    assert values("turnkeeper-backup.service", "ExecStartPre") == []
