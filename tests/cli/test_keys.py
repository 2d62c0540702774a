"""K3, D2: `turnkeeper keys` makes, lists, rotates and revokes keys, and prints each once."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.bootstrap import open_keys
from service.cli.app import app
from service.core.callers import Caller, Scope
from service.core.ids import OwnerId
from tests.core.made_keys import CI, CI_TEXT

pytestmark = pytest.mark.rules("K3", "D2")

KEY = re.compile(r"tk_[a-z2-7]{8}_[A-Za-z0-9_-]{43}\n")
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that isn't there yet, and no `turnkeeper.toml` around."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "keys.json"


def keys(*arguments: str, file: Path | None = None, env: Mapping[str, str] | None = None) -> Result:
    where = () if file is None else ("--file", str(file))
    return CliRunner().invoke(app, ["keys", *arguments, *where], env=env, catch_exceptions=False)


def added(path: Path, *arguments: str) -> str:
    """Add a key and give its text."""
    result = keys("add", *arguments, file=path)
    assert result.exit_code == 0, result.stderr
    assert KEY.fullmatch(result.stdout)
    return result.stdout.strip()


def said(result: Result) -> list[str]:
    assert "Traceback" not in result.stderr
    assert all(line.startswith("turnkeeper: ") for line in result.stderr.splitlines())
    return [line.removeprefix("turnkeeper: ") for line in result.stderr.splitlines()]


def refused(result: Result) -> tuple[int, str]:
    """Give the exit code and the one line that was said; nothing was printed."""
    (line,) = said(result)
    assert result.stdout == ""
    return result.exit_code, line


def caller(path: Path, key: str) -> Caller | None:
    return open_keys(path).caller(key)


def test_the_key_alone_is_printed_and_the_rest_is_said_beside_it(path: Path) -> None:
    result = keys("add", "ci", file=path)

    assert result.exit_code == 0
    assert KEY.fullmatch(result.stdout)
    assert said(result) == [
        f"made the file {path}; a service that is to ask for keys needs it as TURNKEEPER_API_KEYS_FILE",
        f"the key ci is good from now on: id {result.stdout[3:11]}, owner ci, scopes turns",
        "keep it now: it is not shown again, and only its hash is in the file",
    ]
    assert result.stdout.strip() not in result.stderr + path.read_text()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_may_take_turns_for_itself_unless_more_is_said(path: Path) -> None:
    ci = added(path, "ci")
    phone = added(path, "phone", "--owner", "ci", "--scopes", "approve, admin")

    assert caller(path, ci) == Caller(name="ci", owner=OwnerId("ci"), scopes=frozenset({Scope.TURNS}))
    both = frozenset({Scope.APPROVE, Scope.ADMIN})
    assert caller(path, phone) == Caller(name="phone", owner=OwnerId("ci"), scopes=both)


def test_a_second_key_says_nothing_of_a_new_file(path: Path) -> None:
    added(path, "ci")

    assert [line.partition(":")[0] for line in said(keys("add", "phone", file=path))] == [
        "the key phone is good from now on",
        "keep it now",
    ]


def test_a_name_that_is_taken_is_refused_and_the_key_stays(path: Path) -> None:
    ci = added(path, "ci")

    assert refused(keys("add", "ci", file=path)) == (
        1,
        f"{path} has a key with the name ci already; --rotate replaces it",
    )
    assert caller(path, ci) is not None


def test_a_rotated_key_ends_and_the_new_one_has_its_owner_and_scopes(path: Path) -> None:
    before = added(path, "ci", "--owner", "team", "--scopes", "turns,approve")

    result = keys("add", "ci", "--rotate", file=path)

    assert caller(path, before) is None
    after = caller(path, result.stdout.strip())
    assert after == Caller(name="ci", owner=OwnerId("team"), scopes=frozenset({Scope.TURNS, Scope.APPROVE}))
    assert said(result)[0].startswith("the key ci replaces the one before, which is refused from now on: id ")


def test_a_rotated_key_may_get_another_owner_and_other_scopes(path: Path) -> None:
    added(path, "ci", "--owner", "team")

    after = caller(path, added(path, "ci", "--rotate", "--owner", "me", "--scopes", "admin"))

    assert after == Caller(name="ci", owner=OwnerId("me"), scopes=frozenset({Scope.ADMIN}))


def test_a_slip_in_the_name_of_a_key_to_rotate_or_revoke_is_told_with_the_names_there_are(path: Path) -> None:
    added(path, "ci")
    added(path, "phone")
    there_are = f"{path} has no key with the name cx; known keys: ci, phone"

    assert refused(keys("add", "cx", "--rotate", file=path)) == (1, there_are)
    assert refused(keys("revoke", "cx", file=path)) == (1, there_are)


def test_a_revoked_key_ends_and_the_others_stay(path: Path) -> None:
    ci, phone = added(path, "ci"), added(path, "phone")

    result = keys("revoke", "ci", file=path)

    assert (result.exit_code, result.stdout) == (0, "")
    assert said(result) == [f"the key ci in {path} is revoked; a service that runs refuses it from now on"]
    assert caller(path, ci) is None
    assert caller(path, phone) is not None


def test_the_list_stands_in_columns(path: Path) -> None:
    ci = added(path, "ci", "--scopes", "turns,admin")
    added(path, "the-phone", "--owner", "ci", "--scopes", "approve")

    result = keys("list", file=path)

    first, *rows = result.stdout.splitlines()
    assert first == "name       id        owner  scopes       created"
    assert re.fullmatch(rf"ci         {ci[3:11]}  ci     admin,turns  {TIME}", rows[0])
    assert re.fullmatch(rf"the-phone  [a-z2-7]{{8}}  ci     approve      {TIME}", rows[1])
    assert (len(rows), result.stderr) == (2, "")


def test_the_list_is_there_as_json(path: Path) -> None:
    ci = added(path, "ci", "--scopes", "turns,admin")

    (item,) = json.loads(keys("list", "--json", file=path).stdout)["items"]

    assert re.fullmatch(TIME, item.pop("created_at"))
    assert item == {"name": "ci", "id": ci[3:11], "owner": "ci", "scopes": ["admin", "turns"]}


@pytest.mark.rules("K5")
def test_no_list_has_a_key_or_a_hash(path: Path) -> None:
    ci = added(path, "ci")
    kept = json.loads(path.read_text())["keys"][0]["sha256"]

    printed = keys("list", file=path).output + keys("list", "--json", file=path).output

    assert ci[12:] not in printed
    assert kept not in printed


def test_a_list_without_keys_says_what_that_means(path: Path) -> None:
    added(path, "ci")
    keys("revoke", "ci", file=path)

    assert refused(keys("list", file=path)) == (
        0,
        f"{path} has no key, so nobody is let in; `turnkeeper keys add NAME` makes one",
    )
    assert json.loads(keys("list", "--json", file=path).stdout) == {"items": []}


def test_the_file_may_come_from_the_environment_or_from_the_file_of_settings(path: Path) -> None:
    other = path.with_name("other.json")
    (path.parent / "turnkeeper.toml").write_text(f"api_keys_file = {json.dumps(str(path))}\n")

    assert keys("add", "ci").exit_code == 0
    assert keys("add", "phone", env={"TURNKEEPER_API_KEYS_FILE": str(other)}).exit_code == 0

    assert [key["name"] for key in json.loads(path.read_text())["keys"]] == ["ci"]
    assert [key["name"] for key in json.loads(other.read_text())["keys"]] == ["phone"]


@pytest.mark.parametrize("arguments", [["add", "ci"], ["list"], ["revoke", "ci"]])
def test_without_a_file_one_line_says_what_to_do(path: Path, arguments: list[str]) -> None:
    assert refused(keys(*arguments)) == (
        2,
        "say where the keys are: --file FILE, or set TURNKEEPER_API_KEYS_FILE, which the service needs too",
    )


def test_a_file_that_is_named_asks_no_setting(path: Path) -> None:
    (path.parent / "turnkeeper.toml").write_text("port = \n")

    assert keys("add", "ci", file=path).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", "a b"], "NAME can't be that: it must be 1 to 64 characters of A-Z a-z 0-9 . _ -"),
        (["add", ""], "NAME can't be that: it must be"),
        (["add", CI_TEXT], "NAME can't be that: it looks like a key or a hash, and names are shown"),
        (["revoke", CI_TEXT], "NAME can't be that: it looks like a key"),
        (["add", "ci", "--owner", "x\u202e"], "--owner can't be that: it must be"),
        (["add", "ci", "--owner", CI.hash], "--owner can't be that: it looks like"),
        (["add", "ci", "--scopes", "turn"], '--scopes can\'t be "turn": say some of turns, approve, admin, with'),
        (["add", "ci", "--scopes", ""], '--scopes can\'t be "": say some of'),
        (["add", "ci", "--scopes", "turns,"], '--scopes can\'t be "": say some of'),
        (["add", "ci", "--scopes", "\x1b[2J"], '--scopes can\'t be "\\u001b[2J": say some of'),
        (["add", "ci", "--scopes", CI_TEXT], "--scopes can't be that: say some of"),
    ],
)
def test_wrong_use_is_told_in_one_line_that_repeats_no_key_and_makes_nothing(
    path: Path, arguments: list[str], said: str
) -> None:
    exit_code, line = refused(keys(*arguments, file=path))

    assert exit_code == 2
    assert line.startswith(said)
    assert CI_TEXT[12:] not in line
    assert not path.exists()


@pytest.mark.parametrize("arguments", [["add", "phone"], ["list"], ["revoke", "ci"]])
def test_a_file_that_is_wrong_is_told_in_one_line_and_left_as_it_is(path: Path, arguments: list[str]) -> None:
    path.write_text('{"version": 1, "keys": [{}]}')

    exit_code, line = refused(keys(*arguments, file=path))

    assert (exit_code, line) == (1, f"{path} can't be used: entry 1 lacks id, name, owner, scopes, sha256, created_at")
    assert path.read_text() == '{"version": 1, "keys": [{}]}'


def test_a_file_that_is_not_there_is_told(path: Path) -> None:
    said = f"{path} is not there; `turnkeeper keys add NAME` makes it"

    assert refused(keys("list", file=path)) == (1, said)
    assert refused(keys("revoke", "ci", file=path)) == (1, said)


def test_a_folder_that_is_not_there_is_told(path: Path) -> None:
    exit_code, line = refused(keys("add", "ci", file=path.parent / "no" / "keys.json"))

    assert exit_code == 1
    assert line.endswith(f"can't be made: {path.parent / 'no'} is no folder")
