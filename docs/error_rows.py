"""The errors with which turns and readings end, as users meet them, and the outcomes of turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.core.errors import ErrorKind
from service.core.records import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRow:
    """One kind of error with which a turn or a reading ends; `settings` are those that govern it."""

    kind: ErrorKind
    cause: str
    tried: str = "no"
    do: str
    settings: Sequence[str] = ()


_RETRIED = "up to `retry_attempts` times"

KINDS = (
    KindRow(
        kind=ErrorKind.CONNECT,
        cause="There was no connection to llama-server. Turns and readings wait for it, so they end as `load_timeout`.",
        tried="waited for",
        do="Start llama-server; see that `llama_url` is right and can be reached.",
        settings=("llama_url", "connect_ms"),
    ),
    KindRow(
        kind=ErrorKind.LOAD_TIMEOUT,
        cause="llama-server could not be reached, or was loading its model, for as long as is waited.",
        do="Look at its log. If the model takes longer to load, raise the setting; then send the message again.",
        settings=("load_wait_ms",),
    ),
    KindRow(
        kind=ErrorKind.WAIT_TIMEOUT,
        cause="llama-server's slots were busy, or it doesn't tell them, for as long as is waited.",
        do="See who uses it beside this service (`GET /slots`); give it more slots (`--parallel`), or wait longer.",
        settings=("busy_wait_ms", "slots"),
    ),
    KindRow(
        kind=ErrorKind.STALLED,
        cause=(
            "llama-server had a free slot and did not begin; or it fell silent in its answer; or it was alive and sent "
            "neither token nor progress."
        ),
        tried=f"{_RETRIED}, if the answer had begun",
        do="Look at its log and its GPU. On a very slow machine raise the settings.",
        settings=("idle_grace_ms", "liveness_ms", "progress_ms", "retry_attempts"),
    ),
    KindRow(
        kind=ErrorKind.STREAM_CLOSED,
        cause="The connection to llama-server ended before its answer was whole.",
        tried=_RETRIED,
        do="See whether it was restarted or killed (memory), and whether a proxy before it cuts long answers.",
        settings=("retry_attempts",),
    ),
    KindRow(
        kind=ErrorKind.PROTOCOL,
        cause="What answers isn't a llama-server, or one whose answer can't be read, or has no end.",
        do="Check `llama_url`; take a newer llama-server; look for a proxy that changes answers.",
        settings=("llama_url",),
    ),
    KindRow(
        kind=ErrorKind.UPSTREAM_HTTP,
        cause="llama-server answered with another status than 200; it stands in `status`, its words in `message`.",
        tried="5xx once; 4xx and what the chat template itself says never; 503 is waited for",
        do="401 and 403: `llama_api_key`. 400: what the model or its template can't do; `message` says it.",
        settings=("llama_api_key", "max_error_body"),
    ),
    KindRow(
        kind=ErrorKind.UPSTREAM_ERROR,
        cause="llama-server broke its answer off with an error of its own; `message` has its words.",
        tried=(
            f"{_RETRIED} where it could not parse what the model wrote; other faults once; what it refuses, or its "
            "template says, never"
        ),
        do=(
            "Read `message` and its log. A model that often writes what can't be parsed wants another chat template, "
            "or isn't the one for the work."
        ),
        settings=("retry_attempts",),
    ),
    KindRow(
        kind=ErrorKind.CONTEXT_FULL,
        cause=(
            "The context is full, and nothing more can be left out, or `compaction` is `off`. A turn has the outcome "
            "`session_full` then; a reading whose calls don't fit fails."
        ),
        tried="after a compaction, where one makes room",
        do="A shorter message may fit; begin a new session; give llama-server a larger `--ctx-size` for each slot.",
        settings=("min_room", "compact_at"),
    ),
    KindRow(
        kind=ErrorKind.EMPTY_ANSWER,
        cause="The model wrote neither text nor a call, twice.",
        tried="once, warmer and with another seed",
        do="Ask in other words. If it comes often, the model or its chat template doesn't fit the conversation.",
    ),
    KindRow(
        kind=ErrorKind.THINKING_CAP,
        cause="The model thought on past its budget, and once more with hardly any.",
        tried="once, with a small budget",
        do="Raise the limit, make the session with `thinking: off`, or take a model that comes to an end.",
        settings=("thinking_tokens",),
    ),
    KindRow(
        kind=ErrorKind.TOOL_PORT,
        cause=(
            "Reserved: no turn ends with it. What goes wrong at the tool port becomes the result of its call, with "
            "status `failed`, and the turn goes on."
        ),
        do="Look at the `tool_result` records and at the port's log.",
        settings=("tool_port_url",),
    ),
    KindRow(
        kind=ErrorKind.STORE,
        cause="The store couldn't be written or read: disk full, file locked, file not writable.",
        do=(
            "Make room, then send the message again. Where even the turn's end couldn't be written the streams end "
            "with `store_error`, and it is written before the session's next turn."
        ),
        settings=("database_url",),
    ),
    KindRow(
        kind=ErrorKind.CRASHED,
        cause="The service ended so many times in a row while it went on with this turn.",
        do="Read its log from before the last starts; then send the message again.",
        settings=("resume_attempts",),
    ),
    KindRow(
        kind=ErrorKind.PLAN_CHANGED,
        cause="Of readings only: the model, its template or our prompts are others than when the reading was begun.",
        do="Begin a new reading.",
    ),
    KindRow(
        kind=ErrorKind.INTERNAL,
        cause="The service made a mistake. Its log has the traceback, with session and turn.",
        do="Report it, with the log's lines. The session can be used on.",
    ),
)

OUTCOMES = {
    Outcome.ANSWERED: (
        "There is an answer. With `truncated: true` it is cut; with a `limit` it was asked for when the limit was "
        "reached ([limits](limits.md#what-ends-a-turn))."
    ),
    Outcome.TURN_LIMIT: "A limit ended the turn; `limit` says which ([limits](limits.md#what-ends-a-turn)).",
    Outcome.SESSION_FULL: (
        "The context is full; the error is `context_full` "
        "([what is summarised](limits.md#what-is-summarised-and-the-turn-goes-on))."
    ),
    Outcome.FAILED: "The turn could not go on; the table above.",
    Outcome.CANCELLED: "A client, an interrupt, a deletion or the end of its parent cancelled it.",
}
