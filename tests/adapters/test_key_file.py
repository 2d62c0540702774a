"""K3: the file of keys counts as it is now: changed, gone, broken and back, without a restart."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs

from service.adapters.key_file import KeyFile, KeyFileEditor, others_rights, watched
from service.adapters.key_file.reading import LARGEST_BYTES, read_key_file
from service.core.api_keys import ApiKey
from service.core.callers import Scope
from service.core.ids import OwnerId
from service.ports.key_file import KeyFileError
from tests.core.made_keys import CI_TEXT, KEYS

pytestmark = pytest.mark.rules("K3")

TURNS = frozenset({Scope.TURNS})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


@pytest.fixture(autouse=True)
def logs_as_they_come() -> Iterator[None]:
    """Forget loggers that another test has set up."""
    before = structlog.get_config()
    structlog.configure(cache_logger_on_first_use=False)
    yield
    structlog.configure(**before)


def add(path: Path, name: str) -> str:
    """Add a key and give its text."""
    return KeyFileEditor(path).add(name, owner=OwnerId(name), scopes=TURNS).text


def name_of(keys: KeyFile, presented: str) -> str | None:
    caller = keys.caller(presented)
    return None if caller is None else caller.name


def test_a_key_is_good_as_soon_as_it_is_added_and_until_it_is_revoked(path: Path) -> None:
    ci = add(path, "ci")
    keys = KeyFile(path)

    phone = add(path, "phone")
    assert (name_of(keys, ci), name_of(keys, phone)) == ("ci", "phone")

    KeyFileEditor(path).revoke("ci")
    assert (name_of(keys, ci), name_of(keys, phone)) == (None, "phone")


def test_a_rotated_key_is_good_at_once_and_the_one_before_is_not(path: Path) -> None:
    before = add(path, "ci")
    keys = KeyFile(path)

    after = KeyFileEditor(path).rotate("ci", owner=None, scopes=None).text

    assert (name_of(keys, before), name_of(keys, after)) == (None, "ci")


def test_the_version_grows_when_the_keys_change_and_not_when_only_the_file_does(path: Path) -> None:
    add(path, "ci")
    keys = KeyFile(path)
    first = keys.version()

    path.write_text(path.read_text() + "\n\n")
    assert keys.version() == first

    add(path, "phone")
    second = keys.version()
    assert second > first

    path.unlink()
    assert keys.version() > second


def test_a_file_is_read_again_only_when_it_has_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(path, "ci")
    keys = KeyFile(path)
    reads = 0

    def counted(of: Path) -> tuple[ApiKey, ...]:
        nonlocal reads
        reads += 1
        return read_key_file(of)

    monkeypatch.setattr(watched, "read_key_file", counted)
    assert [len(keys.keys()) for _ in range(3)] == [1, 1, 1]
    assert reads == 0

    os.utime(path, ns=(0, 0))
    assert [len(keys.keys()) for _ in range(3)] == [1, 1, 1]
    assert reads == 1

    path.write_text("{")
    assert [len(keys.keys()) for _ in range(3)] == [0, 0, 0]
    assert reads == 2


@pytest.mark.skipif(os.name != "posix", reason="there the time of a change of status is another")
def test_a_change_is_seen_that_keeps_the_size_and_the_time_of_the_file(path: Path) -> None:
    ci = add(path, "ci")
    other = path.read_text().replace('"name": "ci"', '"name": "cx"')
    keys = KeyFile(path)
    before = path.stat()

    # The clock of a file system may stand still for some milliseconds.
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        path.write_text(other)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    assert name_of(keys, ci) == "cx"


@pytest.mark.parametrize("wrong", ["gone", "broken", "folder", "binary", "huge"])
def test_nobody_is_let_in_while_the_file_is_gone_or_wrong_and_it_is_told_once(path: Path, wrong: str) -> None:
    ci = add(path, "ci")
    right = path.read_bytes()
    keys = KeyFile(path)

    spoil(path, wrong)
    with capture_logs() as logs:
        assert [name_of(keys, ci) for _ in range(3)] == [None] * 3
        assert keys.keys() == ()
    assert [(line["event"], line["log_level"]) for line in logs] == [("key_file.unusable", "error")]
    assert str(path) in logs[0]["error"]
    assert "\n" not in logs[0]["error"]

    if wrong == "folder":
        path.rmdir()
    path.write_bytes(right)
    with capture_logs() as logs:
        assert name_of(keys, ci) == "ci"
        assert name_of(keys, ci) == "ci"
    assert [line["event"] for line in logs] == ["key_file.usable_again"]


def spoil(path: Path, wrong: str) -> None:
    if wrong in ("gone", "folder"):
        path.unlink()
    if wrong == "folder":
        path.mkdir()
    content = {"broken": b'{"version": 1, "keys": [', "binary": b"\xff\xfe", "huge": b" " * (LARGEST_BYTES + 1)}
    if wrong in content:
        path.write_bytes(content[wrong])


def test_each_change_of_a_wrong_file_is_told(path: Path) -> None:
    add(path, "ci")
    keys = KeyFile(path)

    with capture_logs() as logs:
        for text in ("{", "[]", "[  ]"):
            path.write_text(text)
            keys.keys()
        path.unlink()
        keys.keys()

    assert [line["error"].removeprefix(f"{path} ").partition(";")[0] for line in logs] == [
        "can't be used: it is no JSON (line 1, column 2)",
        "can't be used: it is no JSON object",
        "can't be used: it is no JSON object",
        "is not there",
    ]


def test_a_file_that_loses_its_last_key_lets_nobody_in_and_is_no_fault(path: Path) -> None:
    ci = add(path, "ci")
    keys = KeyFile(path)

    with capture_logs() as logs:
        KeyFileEditor(path).revoke("ci")
        assert name_of(keys, ci) is None

    assert logs == []
    assert KeyFile(path).keys() == ()


@pytest.mark.rules("K5")
def test_no_key_and_no_hash_is_told_of_a_wrong_file(path: Path) -> None:
    add(path, "ci")
    keys = KeyFile(path)
    path.write_text(json.dumps({"version": 1, "keys": [{"name": "ci", CI_TEXT: KEYS[0].hash}]}))

    with capture_logs() as logs:
        keys.keys()

    assert len(logs) == 1
    assert CI_TEXT not in str(logs)
    assert KEYS[0].hash not in str(logs)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("gone", "is not there; `turnkeeper keys add NAME` makes it"),
        ("broken", "can't be used: it is no JSON (line 1, column 25)"),
        ("folder", "can't be used: it is no regular file"),
        ("binary", "can't be used: it is no UTF-8"),
        ("huge", f"can't be used: it has more than {LARGEST_BYTES} bytes"),
    ],
)
def test_a_start_with_a_file_that_is_missing_or_wrong_is_an_error_in_one_line(
    path: Path, wrong: str, said: str
) -> None:
    add(path, "ci")
    spoil(path, wrong)

    with pytest.raises(KeyFileError) as caught:
        KeyFile(path)

    assert str(caught.value) == f"{path} {said}"


@pytest.mark.skipif(os.name != "posix", reason="a pipe with a name")
def test_a_pipe_is_refused_and_not_waited_for(path: Path) -> None:
    os.mkfifo(path)

    with pytest.raises(KeyFileError, match="it is no regular file"):
        KeyFile(path)


@pytest.mark.skipif(os.name != "posix", reason="file modes say nothing there")
@pytest.mark.parametrize(
    ("mode", "said"),
    [
        (0o600, None),
        (0o400, None),
        (0o640, "others can read the API keys in PATH (mode 0640); chmod 600 ends that"),
        (0o604, "others can read the API keys in PATH (mode 0604); chmod 600 ends that"),
        (0o622, "others can read and change the API keys in PATH (mode 0622); chmod 600 ends that"),
    ],
)
def test_rights_of_others_are_told(path: Path, mode: int, said: str | None) -> None:
    add(path, "ci")
    path.chmod(mode)

    assert others_rights(path) == (None if said is None else said.replace("PATH", str(path)))


def test_of_a_file_that_is_not_there_no_rights_are_told(path: Path) -> None:
    assert others_rights(path) is None
