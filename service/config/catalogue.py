"""Settings in the order in which a person reads them, each with the reason for its default (D1).

What a setting is stands at the setting. Below: nothing. Above: `turnkeeper config`, and what is written from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingGroup:
    """Settings that belong together; `reasons` maps their names to why the default is what it is."""

    title: str
    reasons: Mapping[str, str]


CATALOGUE: Sequence[SettingGroup] = (
    SettingGroup(
        title="Servers",
        reasons={
            "llama_url": "a llama-server that is started without options answers there",
            "llama_api_key": "llama-server asks for none by default",
            "model": "a llama-server with one model needs no name",
            "tool_port_url": "plain chat needs no tools",
            "tool_port_token": "a tool port on the same machine may do without",
            "tool_port_secret": "a tool port that checks no signature needs none",
            "agents_file": "a session may say for itself what it is",
        },
    ),
    SettingGroup(
        title="Store",
        reasons={
            "database_url": "this user's programs keep their data there",
            "retention_days": "nothing is deleted that nobody asked to delete",
        },
    ),
    SettingGroup(
        title="Who may call",
        reasons={
            "host": "without keys nobody but this machine may call",
            "port": "8080 is llama-server's",
            "api_keys_file": "on a machine of one's own no key is needed",
            "allowed_hosts": "by other names a web page of somebody else could reach a local service",
            "allowed_origins": "the service's own pages need none",
        },
    ),
    SettingGroup(
        title="Limits of a turn",
        reasons={
            "tool_iterations": "most work is done in fewer, and a model that is lost is stopped early",
            "repeat_detection": "a model that repeats a call gets the same answer again, and again",
            "denied_repeats": "a model may not have understood the first denial, and after the second it will not",
            "turn_time_s": "a slow model on a small machine is no mistake",
            "thinking_tokens": "hard questions need as many, and a loop of thoughts ends there",
            "max_tokens": "more than some pages of text is seldom wanted and often a loop",
            "tool_result_cap": "one result of more than some 4,000 tokens would fill a small context",
            "tool_concurrency": "more could overrun a port on the same machine",
        },
    ),
    SettingGroup(
        title="Approvals",
        reasons={
            "approval_wait_s": "people sleep, and a turn that waits costs nothing",
            "approver_keys": "whoever may call may decide, as long as nobody asks for more",
            "approve_after_untrusted": "text from outside may tell a model to do what nobody wants",
        },
    ),
    SettingGroup(
        title="Context and prompt cache",
        reasons={
            "discover_above_tokens": "more specs take a large part of a small context",
            "cache_slack": "a chat template may write the end of a turn anew",
            "min_room": "an answer with less room would be cut",
            "compact_at": "an answer and the next message want room, too",
            "compact_messages": "tokens are what counts",
        },
    ),
    SettingGroup(
        title="Waiting for llama-server",
        reasons={
            "slots": "llama-server knows best",
            "pin_slots": "with its cache in RAM llama-server does as well without, and no request waits for one slot",
            "busy_wait_ms": "a long prompt of somebody else is evaluated for minutes on a CPU",
            "load_wait_ms": "a large model is loaded for minutes from a slow disk",
            "idle_grace_ms": "a server that does nothing has lost the request",
            "liveness_ms": "llama-server is asked for a sign of life every 10 s, and nine in a row are missing then",
            "progress_ms": "signs of life without a token are no progress",
            "poll_ms": "polling faster keeps llama-server from noticing clients that have left",
            "answer_ms": "it answers such questions between two batches, each of which may take seconds on a CPU",
            "connect_ms": "both are near",
            "retry_attempts": "what fails three times in a row fails again",
            "max_error_body": "a reason is a line, and what is longer is somebody's error page",
        },
    ),
    SettingGroup(
        title="Requests and streams",
        reasons={
            "max_body_bytes": "a message has 1 MiB at most, and tools with their schemas want room",
            "max_upload_bytes": "some large PDFs come at a time",
            "max_document_bytes": "that is a shelf of books",
            "max_tool_body_bytes": "it is more than a model can read, and no bomb",
            "max_connections": "it is some times the streams that one core serves",
            "header_timeout_s": "a head is a packet or two, and who sends it for longer holds a place for nothing",
            "max_header_bytes": "other servers allow as much",
            "max_headers": "browsers behind proxies send some thirty",
            "body_timeout_s": "a slow line gets through, and who sends a byte now and then does not",
            "sse_ping_s": "proxies close what is quiet for half a minute or a minute",
            "sse_send_timeout_s": "what a reader does not take has to be kept for it",
        },
    ),
    SettingGroup(
        title="Bounds of one caller",
        reasons={
            "requests_per_minute": "a dashboard does not come near to twenty a second",
            "requests_at_once": "others want room within `max_connections`",
            "streams_at_once": "each takes some 50 KiB",
            "sessions_per_owner": "more are made by a program that is out of hand",
            "turns_per_owner": "more would wait for hours on any machine",
            "readings_per_owner": "each keeps its documents and takes its turn at the slots",
        },
    ),
    SettingGroup(
        title="Traces",
        reasons={
            "traces_url": "who has no collector wants no traces",
            "traces_share": "a model answers some turns in a minute, and each is worth a look",
            "traces_content": "what people say belongs in no second store that nobody thinks of",
        },
    ),
    SettingGroup(
        title="Queue, stop and start",
        reasons={
            "queue_limit": "a person does not wait for more",
            "drain_s": "most answers come in that time, and what is not done goes on at the next start",
            "resume_attempts": "what takes the service down three times would do so for ever",
        },
    ),
)
