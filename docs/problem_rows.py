"""The refusals as users meet them: the codes of problem documents, with statuses from the code."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.errors import ProblemCode
from service.web.early_answers import HEAD_TOO_LARGE, MALFORMED, NO_ROOM, EarlyAnswer
from service.web.problems import STATUS


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemRow:
    """One code of a refused request; `again` says whether the same request may be sent again.

    `code` is None for what is refused before the service proper sees it: then `early` is the answer.
    """

    code: ProblemCode | None = None
    early: EarlyAnswer | None = None
    cause: str
    do: str
    again: str = "no"

    @property
    def name(self) -> str:
        """The code as it stands in the document."""
        if self.code is not None:
            return self.code.value
        assert self.early is not None  # a row has the one or the other
        return self.early.code

    @property
    def status(self) -> int:
        """The HTTP status that goes with it."""
        if self.code is not None:
            return STATUS[self.code].code
        assert self.early is not None  # a row has the one or the other
        return self.early.status


_AFTER = "yes, after `Retry-After`"

PROBLEMS = (
    ProblemRow(
        code=ProblemCode.VALIDATION,
        cause=(
            "The body, the query or a header has a value that isn't taken, lacks one that must be there, or has a name "
            "that isn't known. Also a limit above the one that holds (its setting, its session), what the model's "
            "template or the session can't do, and a document that can't be read."
        ),
        do="Read `errors`: the first ten faults, each with `in`, `field` and `detail`. Correct the request.",
    ),
    ProblemRow(
        code=ProblemCode.UNAUTHORIZED,
        cause="No API key came, or one that isn't known or was revoked.",
        do="Send a key as `Authorization: Bearer KEY` or `X-API-Key`; [API keys](howto/api-keys.md).",
    ),
    ProblemRow(
        code=ProblemCode.FORBIDDEN,
        cause=(
            "The key lacks a scope (`scopes` names those that would do); a page of a foreign `Origin` asks; without "
            "keys the request comes from another machine or through a proxy; or a decision has no signature that holds."
        ),
        do=(
            "By `detail`: use another key, set `allowed_origins`, [make keys](howto/api-keys.md), or "
            "[sign](howto/approve-tools.md#sign-decisions)."
        ),
    ),
    ProblemRow(
        code=ProblemCode.NOT_FOUND,
        cause="There is no such address, session, turn, record, reading or file; or it belongs to another owner.",
        do="Check the id. What is another owner's and what isn't there can't be told apart.",
    ),
    ProblemRow(
        code=ProblemCode.METHOD_NOT_ALLOWED,
        cause="The address is right, the method isn't.",
        do="Use one that the header `Allow` names.",
    ),
    ProblemRow(
        code=ProblemCode.NOT_ACCEPTABLE,
        cause="`Accept` leaves none of the forms that this address answers in.",
        do="Ask for one that `detail` names, or leave `Accept` out.",
    ),
    ProblemRow(
        code=ProblemCode.TURN_IN_PROGRESS,
        cause="The session runs a turn, or waits in one for people; `turn` says which.",
        do='Wait for its end, or send the message with `"on_busy": "queue"` or `"interrupt"`.',
        again=_AFTER,
    ),
    ProblemRow(
        code=ProblemCode.SESSION_FULL,
        cause=(
            "With this message the session doesn't fit the model's context, compaction included: `needed_tokens`, "
            "`size_tokens`. Nothing was recorded."
        ),
        do="Send a shorter message, begin a new session, or give llama-server a larger `--ctx-size`.",
    ),
    ProblemRow(
        code=ProblemCode.NOT_PENDING,
        cause="The call waits for no decision (any more): somebody was first, it has expired, or the turn has ended.",
        do="Read `GET /approvals` again.",
    ),
    ProblemRow(
        code=ProblemCode.DIGEST_MISMATCH,
        cause="The digest isn't that of the call that waits.",
        do="Show the call anew, and let the person decide on what it says now.",
    ),
    ProblemRow(
        code=ProblemCode.IDEMPOTENCY_MISMATCH,
        cause="The `Idempotency-Key` was used for a request with another body.",
        do="Take a new key for a new request.",
    ),
    ProblemRow(
        code=ProblemCode.TOO_LARGE,
        cause="The body is longer than `max_body_bytes`, or an upload than `max_upload_bytes`.",
        do="Send less, or raise the setting.",
    ),
    ProblemRow(
        code=ProblemCode.UNSUPPORTED_MEDIA_TYPE,
        cause="The body isn't called JSON (for uploads: multipart).",
        do="Send `Content-Type: application/json`, or `multipart/form-data` to `POST /readings`.",
    ),
    ProblemRow(
        code=ProblemCode.WRONG_HOST,
        cause="The name in `Host` isn't one of `allowed_hosts`.",
        do="Ask by a name that is, or add this one. [Behind a proxy](howto/behind-a-proxy.md) has more.",
    ),
    ProblemRow(
        code=ProblemCode.QUEUE_FULL,
        cause=(
            "As many turns wait in this session's queue (`queue_limit`), or have not ended over all of the owner's "
            "sessions (`turns_per_owner`), as may; or as many readings (`readings_per_owner`)."
        ),
        do="Wait until one has ended, or cancel one.",
        again=_AFTER,
    ),
    ProblemRow(
        code=ProblemCode.RATE_LIMITED,
        cause=(
            "The key has sent as many requests in a minute, or has as many requests or streams open, or its owner has "
            "as many sessions, as may: `requests_per_minute`, `requests_at_once`, `streams_at_once`, "
            "`sessions_per_owner`."
        ),
        do="Wait; of sessions, delete some. Close streams that nobody reads.",
        again=_AFTER,
    ),
    ProblemRow(
        code=ProblemCode.TOOL_PORT_UNAVAILABLE,
        cause="The tool port doesn't tell its tools, and no list of them is known from before.",
        do='Start it; or make the session without tools: `{"tools": {"names": []}}`.',
        again="yes, once the port answers",
    ),
    ProblemRow(
        code=ProblemCode.SHUTTING_DOWN,
        cause="The service stops, and takes nothing new.",
        do="Ask again when it is back. What it had taken goes on then.",
        again="yes, after `Retry-After`",
    ),
    ProblemRow(
        code=ProblemCode.INTERNAL,
        cause="The store couldn't write or read, or the service made a mistake.",
        do="Read the service's log; it has the reason, the answer has not. With a full disk: make room.",
        again="yes, with the same `Idempotency-Key`",
    ),
    ProblemRow(
        early=MALFORMED,
        cause="What came is no request of HTTP/1.1 that can be read. The connection is closed.",
        do="Look for TLS sent to a port without it, or a client or proxy that speaks another protocol.",
    ),
    ProblemRow(
        early=HEAD_TOO_LARGE,
        cause=(
            "The request's head is longer than `max_header_bytes` or has more headers than `max_headers`. The "
            "connection is closed."
        ),
        do="Send fewer cookies and headers, or raise the setting.",
    ),
    ProblemRow(
        early=NO_ROOM,
        cause="As many connections are open as may be (`max_connections`). The health addresses are still answered.",
        do="Close connections; look for a client that opens many.",
        again=_AFTER,
    ),
)
