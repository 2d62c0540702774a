"""K3: changes of the file of keys are whole, of one process at a time, and lose nothing of anybody."""

from __future__ import annotations

import os
import stat
from base64 import b32encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from service.adapters.key_file import KeyFileEditor
from service.adapters.key_file.reading import LARGEST_BYTES
from service.core.api_keys import RANDOM_BYTES
from service.core.callers import Scope
from service.core.ids import OwnerId
from service.core.key_list import write_keys
from service.ports.key_file import KeyFileError, KeyNameTaken, NoSuchKey

pytestmark = pytest.mark.rules("K3")

TURNS = frozenset({Scope.TURNS})
APPROVE = frozenset({Scope.APPROVE})
NOTHING = frozenset[Scope]()
posix = pytest.mark.skipif(os.name != "posix", reason="file modes say nothing there")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


@pytest.fixture
def editor(path: Path) -> KeyFileEditor:
    return KeyFileEditor(path)


def names(editor: KeyFileEditor) -> list[str]:
    listed = editor.keys()
    return [key.name for key in listed]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_first_key_makes_the_file_and_the_next_does_not(editor: KeyFileEditor, path: Path) -> None:
    first = editor.add("ci", owner=OwnerId("team"), scopes=TURNS | APPROVE)
    second = editor.add("phone", owner=OwnerId("team"), scopes=APPROVE)

    assert (first.is_in_new_file, second.is_in_new_file) == (True, False)
    assert editor.keys() == (first.kept, second.kept)
    assert (first.kept.owner, first.kept.scopes) == ("team", TURNS | APPROVE)
    assert timedelta(0) <= datetime.now(UTC) - first.kept.created_at < timedelta(minutes=5)
    assert first.text not in path.read_text()
    assert first.text != second.text


@posix
def test_the_file_is_for_its_owners_eyes_and_keeps_no_rights_of_others(editor: KeyFileEditor, path: Path) -> None:
    editor.add("ci", owner=OwnerId("ci"), scopes=TURNS)
    assert mode_of(path) == 0o600

    path.chmod(0o666)
    editor.add("phone", owner=OwnerId("ci"), scopes=TURNS)
    assert mode_of(path) == 0o640


@posix
def test_a_group_that_could_not_read_the_file_still_can_not(editor: KeyFileEditor, path: Path) -> None:
    editor.add("ci", owner=OwnerId("ci"), scopes=TURNS)
    path.chmod(0o604)

    editor.revoke("ci")

    assert mode_of(path) == 0o600


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_stays_theirs(editor: KeyFileEditor, path: Path) -> None:
    editor.add("ci", owner=OwnerId("ci"), scopes=TURNS)
    os.chown(path, 65534, 65534)

    editor.add("phone", owner=OwnerId("ci"), scopes=TURNS)

    assert (path.stat().st_uid, mode_of(path)) == (65534, 0o600)


def test_a_name_is_used_once(editor: KeyFileEditor, path: Path) -> None:
    editor.add("ci", owner=OwnerId("ci"), scopes=TURNS)
    before = path.read_bytes()

    with pytest.raises(KeyNameTaken, match="has a key with the name ci already"):
        editor.add("ci", owner=OwnerId("other"), scopes=APPROVE)

    assert path.read_bytes() == before


def test_a_rotated_key_keeps_its_place_its_owner_and_its_scopes_unless_told(editor: KeyFileEditor) -> None:
    old = editor.add("ci", owner=OwnerId("team"), scopes=TURNS)
    editor.add("phone", owner=OwnerId("team"), scopes=APPROVE)

    new = editor.rotate("ci", owner=None, scopes=None)
    assert names(editor) == ["ci", "phone"]
    assert (new.kept.owner, new.kept.scopes) == ("team", TURNS)
    assert new.kept.id != old.kept.id
    assert new.kept.hash != old.kept.hash

    changed = editor.rotate("ci", owner=OwnerId("me"), scopes=APPROVE)
    assert editor.keys()[0] == changed.kept
    assert (changed.kept.owner, changed.kept.scopes) == ("me", APPROVE)


def test_a_name_that_no_key_has_is_told_with_those_that_there_are(editor: KeyFileEditor, path: Path) -> None:
    editor.add("ci", owner=OwnerId("ci"), scopes=TURNS)
    editor.add("phone", owner=OwnerId("ci"), scopes=TURNS)
    before = path.read_bytes()

    with pytest.raises(NoSuchKey, match="has no key with the name cx; known keys: ci, phone"):
        editor.revoke("cx")
    with pytest.raises(NoSuchKey, match="has no key with the name cx; known keys: ci, phone"):
        editor.rotate("cx", owner=None, scopes=None)

    assert path.read_bytes() == before


def test_an_id_that_another_key_has_is_drawn_again(path: Path) -> None:
    drawn = [bytes(RANDOM_BYTES), bytes(RANDOM_BYTES), bytes([1] * RANDOM_BYTES)]
    editor = KeyFileEditor(path, random_bytes=lambda count: drawn.pop(0)[:count])

    editor.add("ci", owner=OwnerId("ci"), scopes=TURNS)
    editor.add("phone", owner=OwnerId("ci"), scopes=TURNS)

    first, second = editor.keys()
    assert first.id != second.id
    assert drawn == []


def test_writers_at_the_same_time_lose_no_key(path: Path) -> None:
    def add(name: str) -> None:
        KeyFileEditor(path).add(name, owner=OwnerId(name), scopes=TURNS)

    wanted = [f"key-{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, wanted))

    assert sorted(names(KeyFileEditor(path))) == sorted(wanted)


def test_a_change_waits_for_another_one_and_gives_up_in_the_end(path: Path) -> None:
    impatient = KeyFileEditor(path, lock_wait_s=0.05)
    impatient.add("ci", owner=OwnerId("ci"), scopes=TURNS)

    with FileLock(f"{path}.lock"), pytest.raises(KeyFileError, match="is being changed by another process"):
        impatient.revoke("ci")

    assert names(impatient) == ["ci"]
    impatient.revoke("ci")


def test_nothing_is_left_beside_the_file_but_its_lock(editor: KeyFileEditor, path: Path) -> None:
    editor.add("ci", owner=OwnerId("ci"), scopes=TURNS)
    with pytest.raises(NoSuchKey):
        editor.revoke("cx")
    editor.revoke("ci")

    assert sorted(each.name for each in path.parent.iterdir()) == ["keys.json", "keys.json.lock"]


def test_a_file_that_can_not_be_replaced_is_as_before_and_nothing_is_left(
    editor: KeyFileEditor, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor.add("ci", owner=OwnerId("ci"), scopes=TURNS)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KeyFileError, match="can't be written: No space left on device"):
        editor.add("phone", owner=OwnerId("ci"), scopes=TURNS)

    assert path.read_bytes() == before
    assert sorted(each.name for each in path.parent.iterdir()) == ["keys.json", "keys.json.lock"]


def test_a_file_that_is_wrong_is_not_written_over(editor: KeyFileEditor, path: Path) -> None:
    path.write_text("{}")

    with pytest.raises(KeyFileError, match="can't be used: it lacks version, keys"):
        editor.add("ci", owner=OwnerId("ci"), scopes=TURNS)

    assert path.read_text() == "{}"


def test_a_file_that_would_be_too_long_to_read_is_not_written(editor: KeyFileEditor, path: Path) -> None:
    one = editor.add("0000", owner=OwnerId("ci"), scopes=TURNS).kept
    each = len(write_keys([one, one])) - len(write_keys([one]))
    full = [
        replace(one, name=f"{at:04}", id=b32encode(at.to_bytes(5, "big")).decode().lower(), hash=f"{at:064x}")
        for at in range((LARGEST_BYTES - len(write_keys([]))) // each)
    ]
    path.write_text(write_keys(full))
    before = path.read_bytes()
    assert len(editor.keys()) > 3000

    with pytest.raises(KeyFileError, match="is full"):
        editor.add("n" * 64, owner=OwnerId("x" * 64), scopes=frozenset(Scope))

    assert path.read_bytes() == before


@pytest.mark.parametrize(("name", "owner", "scopes"), [("a b", "ci", TURNS), ("ci", "", TURNS), ("ci", "ci", NOTHING)])
def test_what_could_not_be_read_again_is_not_written(
    editor: KeyFileEditor, path: Path, name: str, owner: str, scopes: frozenset[Scope]
) -> None:
    editor.add("phone", owner=OwnerId("ci"), scopes=TURNS)
    before = path.read_bytes()

    with pytest.raises(KeyFileError, match="was not changed: "):
        editor.add(name, owner=OwnerId(owner), scopes=scopes)

    assert path.read_bytes() == before


@posix
def test_where_the_name_is_a_link_the_file_behind_it_is_changed(tmp_path: Path, path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "real.json"
    KeyFileEditor(target).add("ci", owner=OwnerId("ci"), scopes=TURNS)
    path.symlink_to(target)

    KeyFileEditor(path).add("phone", owner=OwnerId("ci"), scopes=TURNS)

    assert path.is_symlink()
    assert names(KeyFileEditor(target)) == ["ci", "phone"]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    editor = KeyFileEditor(tmp_path / "no" / "keys.json")

    with pytest.raises(KeyFileError, match=r"can't be made: .* is no folder"):
        editor.add("ci", owner=OwnerId("ci"), scopes=TURNS)


def test_without_a_file_there_is_nothing_to_list_or_to_end(editor: KeyFileEditor) -> None:
    with pytest.raises(KeyFileError, match="is not there; `turnkeeper keys add NAME` makes it"):
        editor.keys()
    with pytest.raises(KeyFileError, match="is not there"):
        editor.revoke("ci")
