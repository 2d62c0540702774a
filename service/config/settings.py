"""All settings: environment over `turnkeeper.toml` over defaults, the command line over all (D1).

Each setting has the name that its rule uses; the unit stands in the name or in the description.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from service.config.kinds import (
    BearerToken,
    HttpAddress,
    Milliseconds,
    PublicKeys,
    Seconds,
    SecondsOrNone,
    SigningSecret,
    is_loopback,
)
from service.core.api_keys import SENT_KEY_VARIABLE
from service.core.baseline import Limits
from service.core.decision_signature import ApproverKeys, read_approver_keys
from service.core.owner_bounds import OwnerBounds
from service.core.result_cap import LEAST_CAP

ENV_PREFIX = "TURNKEEPER_"
CONFIG_FILE = "turnkeeper.toml"

KIB = 1024
MIB = 1024 * KIB


class SettingsError(ValueError):
    """A setting is wrong; the text is one line that names it and says what it may be."""


def user_data_folder() -> Path:
    """Give the folder where this user's programs keep data, by the platform's convention."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "turnkeeper"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "turnkeeper"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "turnkeeper"


def _default_database_url() -> str:
    return f"sqlite:///{(user_data_folder() / 'turnkeeper.db').as_posix()}"


class Settings(BaseSettings):
    """What is in force; build it with `load_settings`, which turns faults into one line."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        extra="forbid",
        frozen=True,
        toml_file=CONFIG_FILE,
        env_ignore_empty=True,
        # The input may be a secret, and this error is the cause of the one that is told (K5).
        hide_input_in_errors=True,
    )

    llama_url: HttpAddress = Field("http://127.0.0.1:8080", description="Where llama-server answers.")
    llama_api_key: BearerToken | None = Field(None, description="The key that llama-server was started with.")
    model: str | None = Field(None, description="Sent as `model` in each request; a router needs it.")
    tool_port_url: HttpAddress | None = Field(None, description="Where the tool port answers; none means no tools.")
    tool_port_token: BearerToken | None = Field(None, description="Sent to the tool port as a bearer token.")
    tool_port_secret: SigningSecret | None = Field(
        None,
        description=(
            "Signs each request to the tool port by Standard Webhooks: whsec_ and the base64 of 24 to 64 random bytes."
        ),
    )
    database_url: str = Field(
        default_factory=_default_database_url,
        description="The store: sqlite:///PATH, or memory: for one that ends with the process.",
    )
    api_keys_file: Path | None = Field(
        None,
        description="API keys; see `turnkeeper keys`. None: only this machine is served (K2, K3).",
    )
    host: str = Field(
        "127.0.0.1", description="The address to listen on; a loopback one, as long as there are no API keys (K2)."
    )
    port: int = Field(8000, ge=0, le=65535, description="The port to listen on; 0 takes a free one.")
    agents_file: Path | None = Field(None, description="Agent profiles (G1).")
    allowed_hosts: list[str] = Field(
        default=[], description="Values of Host that are answered, beside loopback names and `host` (K1)."
    )
    allowed_origins: list[str] = Field(default=[], description="Origins of pages that may call this service (K1).")

    tool_iterations: int = Field(8, ge=0, le=1000, description="Batches of tool calls in a turn (T5).")
    repeat_detection: bool = Field(
        True, description="Whether a call that was made before in its turn is answered without being run (T7)."
    )
    denied_repeats: int = Field(
        2, ge=1, le=1000, description="Steps of a turn that ask again for what was denied, before it ends (A4)."
    )
    approver_keys: PublicKeys = Field(
        default={},
        description=(
            "Who may decide on calls: a JSON object of names and Ed25519 public keys in base64url; with any, each "
            "decision must be signed by one of them (A5)."
        ),
    )
    approval_wait_s: SecondsOrNone = Field(
        0, description="Seconds that a call waits for a decision before it is denied; 0 means for ever (A6)."
    )
    approve_after_untrusted: bool = Field(
        True,
        description=(
            "Whether a session that holds untrusted text asks a person before each call of a tool that acts outside "
            "or is not public (A7)."
        ),
    )
    tool_result_cap: int = Field(
        16 * KIB, ge=LEAST_CAP, le=8 * MIB, description="Bytes of a tool result that the model gets (T9)."
    )
    turn_time_s: SecondsOrNone = Field(0, description="Seconds that a turn may take; 0 means no bound (T12).")
    discover_above_tokens: int = Field(
        4096, ge=0, description="Tokens of tool specs above which a session finds its tools by words (X3)."
    )
    cache_slack: int = Field(64, ge=0, description="Tokens that may be missing in the cache without being told (P5).")
    thinking_tokens: int = Field(8192, ge=0, description="Tokens of thought in a turn (L6).")
    max_tokens: int = Field(4096, ge=1, description="Tokens of one answer, thought not counted (C0).")
    tool_concurrency: int = Field(4, ge=1, le=256, description="Calls of one batch that run at the same time (T8).")

    slots: int | None = Field(None, ge=1, description="Completions in flight; none means llama-server's slots (L9).")
    pin_slots: bool = Field(
        False,
        description="Whether a session keeps to one slot: it then waits for it while others idle (L1).",
    )
    liveness_ms: Milliseconds = Field(90_000, description="Silence in a stream before it counts as stalled (L4).")
    progress_ms: Milliseconds = Field(600_000, description="Time without token or progress, pings or not (L4).")
    busy_wait_ms: Milliseconds = Field(600_000, description="Wait for the first byte from a busy server (L2).")
    load_wait_ms: Milliseconds = Field(300_000, description="Wait for a server that is away or loads (L2, L7).")
    idle_grace_ms: Milliseconds = Field(30_000, description="Wait for the first byte while no slot works (L2).")
    poll_ms: Milliseconds = Field(2_000, description="Time between two looks at a server that is waited for (L2, L7).")
    answer_ms: Milliseconds = Field(10_000, description="Time for llama-server to answer a short question.")
    connect_ms: Milliseconds = Field(5_000, description="Time to open a connection to llama-server or the port.")
    retry_attempts: int = Field(2, ge=0, le=10, description="Further attempts at a step that failed (L7).")
    max_error_body: int = Field(64 * KIB, ge=KIB, description="Bytes read of an error answer (L3).")
    min_room: int = Field(256, ge=1, description="Tokens that must be left for an answer (C0).")
    compact_at: float = Field(
        0.8, ge=0.1, le=1.0, description="Share of a slot's context, 0.1 to 1, beyond which a prompt is compacted (C1)."
    )
    compact_messages: int = Field(
        0, ge=0, description="Messages of a prompt beyond which it is compacted as well; 0 means no such bound (C1)."
    )

    max_body_bytes: int = Field(8 * MIB, ge=KIB, description="Bytes of a request body (H2).")
    max_upload_bytes: int = Field(
        256 * MIB, ge=KIB, description="Bytes of a request with files: what `POST /readings` takes at most (H2)."
    )
    max_document_bytes: int = Field(
        64 * MIB, ge=KIB, le=1024 * MIB, description="Bytes of text that an uploaded document may have (R1)."
    )
    max_tool_body_bytes: int = Field(8 * MIB, ge=KIB, description="Bytes of a tool port's answer (X2).")
    max_connections: int = Field(
        2000,
        ge=16,
        le=1_000_000,
        description="Connections from callers; each takes one of the process's open files (H2).",
    )
    header_timeout_s: Seconds = Field(20, description="Seconds in which a request's head must have come (H2).")
    max_header_bytes: int = Field(32 * KIB, ge=KIB, le=MIB, description="Bytes of a request's head (H2).")
    max_headers: int = Field(100, ge=16, le=10_000, description="Headers of a request (H2).")
    body_timeout_s: Seconds = Field(
        60,
        description=(
            "Seconds after which a body that comes is looked at, again and again: with less than 1 KiB for each of "
            "them its connection is closed (H2)."
        ),
    )
    sse_ping_s: Seconds = Field(15, description="Seconds between comments in a quiet stream (H6).")
    sse_send_timeout_s: Seconds = Field(30, description="Seconds until a reader that takes nothing is dropped (H7).")
    drain_s: SecondsOrNone = Field(10, description="Seconds that running turns get at shutdown (H8).")
    queue_limit: int = Field(16, ge=1, le=1000, description="Turns that may wait in one session (H4).")
    resume_attempts: int = Field(3, ge=1, description="Restarts that may go on with one turn in vain (S4).")

    requests_per_minute: int = Field(
        1200, ge=0, description="Requests of an API key in a minute; 0 means no bound, and without keys there is none."
    )
    requests_at_once: int = Field(
        256,
        ge=0,
        description="Requests of an API key at the same time, `streams_at_once` apart; 0 means no bound.",
    )
    streams_at_once: int = Field(
        128, ge=0, description="Streams of event addresses that an API key has open; 0 means no bound."
    )
    sessions_per_owner: int = Field(10_000, ge=0, description="Sessions that an owner may have; 0 means no bound.")
    turns_per_owner: int = Field(
        256, ge=0, description="Turns of an owner, over all sessions, that run or wait; 0 means no bound."
    )
    readings_per_owner: int = Field(16, ge=0, description="Readings of an owner that go on; 0 means no bound.")

    traces_url: HttpAddress | None = Field(
        None,
        description=(
            "Where an OpenTelemetry collector takes spans over OTLP and HTTP, such as http://127.0.0.1:4318; none "
            "means that no traces are kept."
        ),
    )
    traces_share: float = Field(1.0, ge=0.0, le=1.0, description="Share that is kept of the traces that begin here.")
    traces_content: bool = Field(
        False, description="Whether spans hold what was said: prompts, answers, arguments and results."
    )

    retention_days: int = Field(
        0, ge=0, le=36_500, description="Days after which a session that nobody used is deleted; 0 keeps all (S7)."
    )

    @field_validator("host")
    @classmethod
    def _is_open_with_keys_only(cls, host: str, info: ValidationInfo) -> str:
        # Keys stand before the host in this class, so they are known here.
        if info.data.get("api_keys_file") is None and not is_loopback(host):
            raise ValueError(
                "must be 127.0.0.1, ::1 or localhost: without API keys only this machine may be served "
                "(turnkeeper keys add NAME makes one, and api_keys_file names their file)"
            )
        return host

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Rank the sources: command line, environment, file; defaults come last (D1)."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    def limits(self) -> Limits:
        """Give the bounds of a turn that no request may exceed."""
        return Limits(
            tool_iterations=self.tool_iterations,
            repeat_detection=self.repeat_detection,
            denied_repeats=self.denied_repeats,
            tool_result_cap=self.tool_result_cap,
            turn_time_s=self.turn_time_s,
            thinking_tokens=self.thinking_tokens,
            max_tokens=self.max_tokens,
        )

    def owner_bounds(self) -> OwnerBounds:
        """Give how much one owner may have at a time."""
        return OwnerBounds(
            sessions=self.sessions_per_owner, turns=self.turns_per_owner, readings=self.readings_per_owner
        )

    def approvers(self) -> ApproverKeys:
        """Give the keys of those who may decide on calls; none means that decisions need no signature (A5)."""
        return read_approver_keys(self.approver_keys)


def load_settings(**overrides: Any) -> Settings:
    """Read all sources; `overrides` are the command line's (None means not given).

    Raises:
        SettingsError: a value is wrong or a name is unknown; one line says which.
    """
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        raise SettingsError(_one_line(error)) from error
    except ValueError as error:
        # TOML that can't be parsed, or JSON in a variable that holds a list.
        raise SettingsError(f"{CONFIG_FILE} or the environment can't be read: {error}") from error
    except OSError as error:
        raise SettingsError(f"{CONFIG_FILE} can't be read: {error.strerror}") from error


def unknown_variables() -> list[str]:
    """Name the environment's variables that look like settings and are none: most likely slips of the pen."""
    known = {SENT_KEY_VARIABLE, *(f"{ENV_PREFIX}{name.upper()}" for name in Settings.model_fields)}
    return sorted(name for name in os.environ if name.startswith(ENV_PREFIX) and name.upper() not in known)


def _one_line(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "settings"
    return f"{ENV_PREFIX}{name.upper()} (or {name} in {CONFIG_FILE}): {first['msg'].removeprefix('Value error, ')}"
