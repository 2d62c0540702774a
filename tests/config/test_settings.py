"""Settings: where they come from, what wins, and what is said of a wrong one (D1)."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from pydantic_settings import TomlConfigSettingsSource

from service.config import Settings, SettingsError, load_settings, unknown_variables, user_data_folder
from service.core.baseline import Limits
from service.core.decision_signature import ApproverKeys, read_approver_keys
from tests.secrets.canaries import TOOL_PORT_TOKEN
from tests.secrets.search import canaries_in

pytestmark = pytest.mark.rules("D1")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_line_wins_over_the_environment_over_the_file_over_the_defaults(
    in_an_empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_settings().port == 8000
    (in_an_empty_folder / "turnkeeper.toml").write_text("port = 1\ntool_iterations = 3\n")
    assert (load_settings().port, load_settings().tool_iterations) == (1, 3)
    monkeypatch.setenv("TURNKEEPER_PORT", "2")
    assert load_settings().port == 2
    assert load_settings(port=3).port == 3
    assert load_settings(port=None).port == 2


def test_a_settings_file_that_can_not_be_read_stops_the_start_with_the_reason(
    in_an_empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "turnkeeper.toml")

    (in_an_empty_folder / "turnkeeper.toml").write_text("port = 1\n")
    monkeypatch.setattr(TomlConfigSettingsSource, "_read_file", refuse)
    with pytest.raises(SettingsError, match=r"^turnkeeper\.toml can't be read: Permission denied$"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("port", "70000", "port"),
        ("port", "many", "port"),
        ("llama_url", "localhost:8080", "http://127.0.0.1:8080"),
        ("llama_url", "http://a:b:c", "address"),
        ("liveness_ms", "49", "50"),
        ("host", "0.0.0.0", "API keys"),
        ("host", "example.org", "API keys"),
        ("allowed_hosts", "no json", "can't be read"),
        ("approval_wait_s", "-1", "approval_wait_s"),
        ("approve_after_untrusted", "perhaps", "approve_after_untrusted"),
        ("compact_at", "0.09", "compact_at.*0.1"),
        ("compact_at", "1.1", "compact_at.*1"),
        ("compact_at", "nan", "compact_at"),
        ("compact_messages", "-1", "compact_messages"),
    ],
)
def test_a_wrong_value_stops_the_start_with_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"TURNKEEPER_{name.upper()}", value)
    with pytest.raises(SettingsError, match=said) as caught:
        load_settings()
    assert "\n" not in str(caught.value)


@pytest.mark.rules("A6", "A7", "C1")
def test_calls_wait_for_ever_text_from_outside_is_guarded_against_and_compaction_is_by_tokens() -> None:
    settings = load_settings()

    assert (settings.approval_wait_s, settings.approve_after_untrusted) == (0, True)
    assert (settings.compact_at, settings.compact_messages) == (0.8, 0)


ALICE = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
BOB = "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw"


@pytest.mark.rules("A5")
def test_approver_keys_are_a_json_object_in_the_environment_and_a_table_in_the_file(
    in_an_empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_settings().approvers() == ApproverKeys()
    (in_an_empty_folder / "turnkeeper.toml").write_text(f'[approver_keys]\nalice = "{ALICE}"\n')
    assert load_settings().approvers() == read_approver_keys({"alice": ALICE})
    monkeypatch.setenv("TURNKEEPER_APPROVER_KEYS", f'{{"alice": "{ALICE}"}}')
    assert load_settings().approvers() == read_approver_keys({"alice": ALICE})


@pytest.mark.rules("A5")
@pytest.mark.parametrize("instead", [{}, {"bob": BOB}])
def test_approver_keys_of_the_environment_replace_those_of_the_file_and_are_not_joined_with_them(
    in_an_empty_folder: Path, monkeypatch: pytest.MonkeyPatch, instead: dict[str, str]
) -> None:
    (in_an_empty_folder / "turnkeeper.toml").write_text(f'[approver_keys]\nalice = "{ALICE}"\n')
    monkeypatch.setenv("TURNKEEPER_APPROVER_KEYS", json.dumps(instead))

    assert load_settings().approvers() == read_approver_keys(instead)


@pytest.mark.rules("A5")
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("no json", "must be a JSON object of names and public keys, like "),
        ("[" * 100_000, "must be a JSON object of names and public keys, like "),
        ("[]", "must be a JSON object of names and public keys, like "),
        ('{"alice": 5}', "must be a JSON object of names and public keys, like "),
        (f'{{"alice": "{ALICE}", "alice": "{BOB}"}}', 'has the name "alice" twice'),
        ('{"alice": "short"}', 'the key of "alice" must be an Ed25519 public key: 43 characters of base64url'),
        (f'{{"alice": "{"A" * 43}"}}', 'the key of "alice" is no Ed25519 public key, though it has the length of one'),
        (f'{{"": "{ALICE}"}}', '"" is no name for a key: it must be 1 to 64 characters, all of them visible'),
    ],
)
def test_approver_keys_that_cannot_be_used_stop_the_start_with_one_line(
    monkeypatch: pytest.MonkeyPatch, value: str, said: str
) -> None:
    monkeypatch.setenv("TURNKEEPER_APPROVER_KEYS", value)
    with pytest.raises(SettingsError) as caught:
        load_settings()

    assert str(caught.value).startswith(f"TURNKEEPER_APPROVER_KEYS (or approver_keys in turnkeeper.toml): {said}")
    assert "\n" not in str(caught.value)


def test_an_unknown_name_in_the_file_is_an_error_and_in_the_environment_a_slip_to_tell(
    in_an_empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNKEEPER_PROT", "1")
    load_settings()
    assert unknown_variables() == ["TURNKEEPER_PROT"]
    (in_an_empty_folder / "turnkeeper.toml").write_text("prot = 1\n")
    with pytest.raises(SettingsError, match="prot"):
        load_settings()


def test_a_file_that_is_no_toml_is_an_error_in_one_line(in_an_empty_folder: Path) -> None:
    (in_an_empty_folder / "turnkeeper.toml").write_text("port = \n")
    with pytest.raises(SettingsError, match="can't be read"):
        load_settings()


def test_every_setting_says_what_it_is() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


@pytest.mark.rules("K2")
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_addresses_of_this_machine_may_be_listened_on(host: str) -> None:
    assert load_settings(host=host).host == host


@pytest.mark.rules("T12")
def test_the_limits_of_the_settings_are_the_limits_of_a_turn() -> None:
    assert load_settings().limits() == Limits()
    others = Limits(
        tool_iterations=3,
        repeat_detection=False,
        denied_repeats=4,
        thinking_tokens=5,
        tool_result_cap=600,
        turn_time_s=7,
        max_tokens=8,
    )
    assert load_settings(**asdict(others)).limits() == others


@pytest.mark.rules("K5")
def test_secrets_do_not_show_when_settings_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNKEEPER_TOOL_PORT_TOKEN", TOOL_PORT_TOKEN)
    settings = load_settings()
    assert canaries_in(repr(settings).encode()) == set()
    assert settings.tool_port_token is not None
    assert settings.tool_port_token.get_secret_value() == TOOL_PORT_TOKEN


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_DATA_HOME", "data/turnkeeper"),
        ("win32", "LOCALAPPDATA", "data/turnkeeper"),
        ("darwin", "HOME", "data/Library/Application Support/turnkeeper"),
    ],
)
def test_the_store_is_in_the_users_data_folder(
    monkeypatch: pytest.MonkeyPatch, platform: str, variable: str, expected: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv(variable, "data")
    assert user_data_folder().as_posix() == expected
    assert load_settings().database_url == f"sqlite:///{expected}/turnkeeper.db"
