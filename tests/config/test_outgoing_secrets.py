"""The settings that requests are signed and sent with: their forms, and that they are never told (K5)."""

from __future__ import annotations

import base64
import traceback

import pytest

from service.config import SettingsError, load_settings

pytestmark = pytest.mark.rules("K5")

CANARY = "canary-5417-canary"


def secret_of(size_bytes: int) -> str:
    return "whsec_" + base64.b64encode(bytes(range(size_bytes))).decode()


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))


@pytest.mark.parametrize(
    "secret", [secret_of(24), secret_of(64), secret_of(32).rstrip("=")], ids=["24 bytes", "64 bytes", "without padding"]
)
def test_a_signing_secret_is_24_to_64_bytes(secret: str) -> None:
    found = load_settings(tool_port_secret=secret).tool_port_secret
    assert found is not None
    assert found.get_secret_value() == secret


@pytest.mark.parametrize(
    "secret",
    [
        CANARY,
        secret_of(32).removeprefix("whsec_"),
        secret_of(23),
        secret_of(65),
        "whsec_",
        "whsec_" + CANARY * 3,
        secret_of(32) + "\n",
        secret_of(32).replace("A", "ä"),
        "whsec_-_" + secret_of(32).removeprefix("whsec_"),
        "whsec_abcde" + "A" * 40,
        "WHSEC_" + secret_of(32).removeprefix("whsec_"),
    ],
)
def test_any_other_stops_the_start_with_one_line_that_does_not_show_it(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNKEEPER_TOOL_PORT_SECRET", secret)
    with pytest.raises(SettingsError) as error:
        load_settings()

    assert str(error.value) == (
        "TURNKEEPER_TOOL_PORT_SECRET (or tool_port_secret in turnkeeper.toml): "
        "must be whsec_ and the base64 of 24 to 64 random bytes"
    )
    if encoded := secret.removeprefix("whsec_"):
        # The causes too, which a log with a traceback would show.
        assert encoded not in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize("name", ["TOOL_PORT_TOKEN", "LLAMA_API_KEY"])
@pytest.mark.parametrize(
    "value", [CANARY + "\r\nX-Evil: 1", CANARY + "\n", CANARY + " ", CANARY + "é", "\x7f" + CANARY]
)
def test_a_token_that_can_not_stand_in_a_header_stops_the_start(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"TURNKEEPER_{name}", value)
    with pytest.raises(SettingsError, match="must be ASCII without line breaks") as error:
        load_settings()

    assert name in str(error.value)
    assert CANARY not in "".join(traceback.format_exception(error.value))


def test_secrets_of_the_right_form_do_not_show_when_settings_are_printed() -> None:
    settings = load_settings(tool_port_secret=secret_of(32), tool_port_token=CANARY, llama_api_key=CANARY)

    for shown in (repr(settings), str(settings), settings.model_dump_json(), str(settings.model_dump())):
        assert CANARY not in shown
        assert secret_of(32) not in shown
