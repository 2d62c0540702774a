"""The search for secrets finds each of them, in each form, and makes the run fail (K5)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b32encode, b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.secrets import canaries, search
from tests.secrets.canaries import CANARIES, MARK
from tests.secrets.exempt import holds_secrets
from tests.secrets.search import SOME_PART, canaries_in, search_folder

pytestmark = pytest.mark.rules("K5")

ROOT = Path(__file__).parent.parent.parent
WRITERS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "base64": lambda text: b64encode(text.encode()).decode(),
    "base64 of a login": lambda text: b64encode(f"a:{text}".encode()).decode(),
    "base64 in a longer text": lambda text: b64encode(f"it is {text}, he said".encode()).decode(),
    "base64 for addresses": lambda text: urlsafe_b64encode(f"??{text}??".encode()).decode(),
    "percent": lambda text: quote(text, safe=""),
    "JSON": json.dumps,
    "JSON in JSON": lambda text: json.dumps({"error": json.dumps({"said": text})}),
    "hex": lambda text: text.encode().hex(),
}


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("name", CANARIES)
def test_a_secret_is_found_in_each_form_and_named(name: str, form: str) -> None:
    written = WRITERS[form](CANARIES[name].decode())

    assert canaries_in(f"before {written} behind".encode()) == {name}


def test_a_part_of_a_secret_and_one_that_was_made_for_a_test_are_found() -> None:
    assert canaries_in(canaries.LLAMA_API_KEY[:20].encode()) == {SOME_PART}
    assert canaries_in(canaries.key_of("ada").encode()) == {SOME_PART}


def test_other_text_is_no_secret() -> None:
    assert canaries_in(b"a canary, and a turnkeeper, and their base64 " + b64encode(b"turnkeeper canary")) == set()


def test_a_private_key_in_its_file_is_found() -> None:
    key = Ed25519PrivateKey.from_private_bytes(canaries.APPROVER_SEED)

    assert canaries_in(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())) == {"APPROVER_SEED"}


def test_the_api_key_is_the_one_of_its_bytes() -> None:
    assert canaries.API_KEY.split("_")[1] == b32encode(canaries.API_KEY_BYTES[:5]).decode().lower()


def test_files_are_searched_across_the_borders_of_pieces(tmp_path: Path) -> None:
    inside = holds_secrets(tmp_path / "logs")
    inside.mkdir()
    for place in range(-30, 30, 7):
        path = inside / f"{place}.db"
        path.write_bytes(b"x" * (search.CHUNK_BYTES + place) + CANARIES["PASSWORD"] + b"x" * 100)

    assert [find.names for find in search_folder(inside)] == [{"PASSWORD"}] * 9


def test_of_a_huge_file_the_beginning_and_the_end_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_BYTES", search.CHUNK_BYTES)
    path = holds_secrets(tmp_path / "huge")
    secret, rest = CANARIES["PASSWORD"], b"x" * (4 * search.CHUNK_BYTES)

    path.write_bytes(secret + rest)
    assert len(search_folder(tmp_path)) == 1
    path.write_bytes(rest + secret)
    assert len(search_folder(tmp_path)) == 1
    path.write_bytes(rest)
    assert search_folder(tmp_path) == []


def test_a_file_that_holds_secrets_by_design_is_left_out(tmp_path: Path) -> None:
    by_design, other = holds_secrets(tmp_path / "turnkeeper.toml"), holds_secrets(tmp_path / "other")
    for path in (by_design, other):
        path.write_text(canaries.TOOL_PORT_TOKEN)

    assert [find.path for find in search_folder(tmp_path, without=frozenset({by_design}))] == [other]


LEAKY = """
import logging
from tests.secrets.canaries import PASSWORD

def test_that_writes(tmp_path):
    (tmp_path / "store.db-wal").write_text(PASSWORD)

def test_that_prints():
    print("refused", PASSWORD)

def test_that_logs():
    logging.getLogger("a").warning(PASSWORD)
"""
TIGHT = """
def test_that_writes(tmp_path):
    (tmp_path / "store.db-wal").write_text("nothing")
"""


def run_of(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run some tests with the search, and give what came of it."""
    (holds_secrets(folder) / "test_leaks.py").write_text(tests, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.secrets.plugin", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTEST_ADDOPTS", None)
    return subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", ".", "--basetemp", str(folder / "base"), *options, "test_leaks.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize("options", [(), ("--numprocesses", "1")], ids=["alone", "with a worker"])
def test_a_run_that_leaks_fails_with_the_places_and_the_name_alone(tmp_path: Path, options: tuple[str, ...]) -> None:
    run = run_of(tmp_path, LEAKY, *options)

    told = run.stdout.partition("secrets were left behind")[2].splitlines()
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout
    assert "3 passed" in run.stdout
    for place in (
        "test_that_writes0/store.db-wal",
        "test_that_prints (Captured stdout",
        "test_that_logs (Captured log",
    ):
        assert [line for line in told if place in line and line.endswith(": PASSWORD")], told
    assert MARK not in run.stdout + run.stderr


def test_a_run_that_leaks_nothing_passes(tmp_path: Path) -> None:
    run = run_of(tmp_path, TIGHT)

    assert run.returncode == pytest.ExitCode.OK, run.stdout
