"""`docs/howto/back-up-and-restore.md` is executed as far as that goes here, and parsed as a whole."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.core import TyperGroup
from typer.testing import CliRunner

from service.cli.app import app
from service.core.ids import SessionId
from tests.cli.stored_logs import run_sql, write_store

pytestmark = pytest.mark.rules("D2")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/back-up-and-restore.md").read_text(encoding="utf-8")
BACKUPS, TRIAL, TIME = "/var/backups/turnkeeper", "/tmp/trial", "20300102T030405Z"
COMMANDS = re.compile(r"turnkeeper ((?:backup|restore|verify) [^`|\n>&)]*)")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_lines_of_the_shell_do_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, backups = tmp_path / "turnkeeper.db", tmp_path / "backups"
    backups.mkdir()
    write_store(store, (SessionId("ses_1"), 4))
    monkeypatch.setenv("TURNKEEPER_DATABASE_URL", f"sqlite:///{store}")
    said: list[str] = []
    for line in "".join(blocks("sh")).splitlines():
        # The page has a time of its own.
        there = next((path.stem.partition("-")[2] for path in backups.iterdir()), "")
        line = line.replace(BACKUPS, str(backups)).replace(TIME, there).replace(TRIAL, str(tmp_path / "trial"))
        program, *words = shlex.split(line)
        assert program == "turnkeeper"
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
        said.append(result.stderr)

    assert [text.split()[1] for text in said] == ["backed", "restored", "restored", "1"]
    assert re.search(r"what was there is \S+\.replaced-\d{8}T\d{6}Z$", said[1])
    for restored in (store, tmp_path / "trial" / "store.db"):
        assert run_sql(restored, "SELECT id FROM sessions") == [("ses_1",)]


@pytest.mark.parametrize("command", COMMANDS.findall(PAGE))
def test_each_command_has_the_options_that_the_page_gives_it(command: str) -> None:
    name, *words = shlex.split(command)
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)

    with group.commands[name].make_context(name, words) as context:
        assert context.params


def test_the_page_has_the_commands() -> None:
    assert len(COMMANDS.findall(PAGE)) > 9


def test_the_line_that_is_shown_is_the_line_that_is_printed(tmp_path: Path) -> None:
    write_store(tmp_path / "store.db", (SessionId("ses_1"), 4))
    words = ["backup", str(tmp_path / "copy.db"), "--database-url", f"sqlite:///{tmp_path / 'store.db'}"]
    printed = CliRunner().invoke(app, words, catch_exceptions=False).stderr

    (shown,) = re.findall(r"^turnkeeper: backed up .*$", PAGE, re.MULTILINE)
    assert without_values(printed) == without_values(shown)


def without_values(line: str) -> str:
    line = re.sub(r"; not in it: .*", "; not in it: …", line.strip())
    line = re.sub(r"sha256:\S+;", "sha256:;", line)
    return re.sub(r"[\d.]+ (kB|MB)|\d+", "N", line).replace("sessions", "session").replace("readings", "reading")


def test_the_pod_of_kubernetes_has_the_volume_the_user_and_the_rights_of_the_service() -> None:
    (pod,) = (yaml.safe_load(block) for block in blocks("yaml"))
    manifests = yaml.safe_load_all((ROOT / "deploy/kubernetes/turnkeeper.yaml").read_text(encoding="utf-8"))
    (service,) = (each["spec"]["template"]["spec"] for each in manifests if each["kind"] == "Deployment")

    assert pod["spec"]["securityContext"] == service["securityContext"]
    assert container(pod["spec"])["securityContext"] == container(service)["securityContext"]
    assert container(pod["spec"])["volumeMounts"] == container(service)["volumeMounts"]
    assert claim(pod["spec"]) == claim(service)


def container(spec: dict[str, Any]) -> dict[str, Any]:
    (only,) = spec["containers"]
    return only


def claim(spec: dict[str, Any]) -> list[str]:
    claims = (volume.get("persistentVolumeClaim") for volume in spec["volumes"])
    return [each["claimName"] for each in claims if each]


def test_the_units_that_the_page_names_are_there_and_have_its_folder() -> None:
    units = set(re.findall(r"deploy/systemd/\S+", PAGE))
    assert units == {"deploy/systemd/turnkeeper-backup.service", "deploy/systemd/turnkeeper-backup.timer"}
    texts = [(ROOT / unit).read_text(encoding="utf-8") for unit in units]
    assert any(f"turnkeeper backup {BACKUPS}" in text for text in texts)
