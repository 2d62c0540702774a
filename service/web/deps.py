"""What routes are given: the application, who asks, and all that can be refused before an answer begins (H2).

An error that is raised after a stream has begun can't be told as a status, so everything is looked up and checked
here or in the route, never in a stream. All of them are async, though none awaits: the framework runs plain functions
in threads, one after another, which costs more than everything else in a request.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request

from service.bootstrap import Application
from service.config import Settings
from service.core.callers import Caller
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.request_key import RequestKey, body_hash
from service.core.trace_context import TraceContext, read_traceparent
from service.web.authentication import CALLER
from service.web.negotiation import EVENT_STREAM, HTML, JSON, NDJSON, PLAIN_TEXT, AnswerForm, answer_form, preferred
from service.web.validation import UNKNOWN, refused_field

# The store's integers are 64 bits wide; a larger cursor lies beyond its end in any case.
MAX_PLACE = 2**63 - 1

PAGE_DEFAULT = 50
PAGE_MAX = 200


async def application(request: Request) -> Application:
    """Give what the lifespan built."""
    found: Application = request.state.application
    return found


async def settings(request: Request) -> Settings:
    """Give the settings in force."""
    found: Settings = request.app.state.settings
    return found


async def caller(request: Request) -> Caller | None:
    """Say who asks; None where no key is asked for, and none was sent."""
    found: Caller | None = request.scope.get(CALLER)
    return found


async def owner(request: Request) -> OwnerId:
    """Say whose sessions and readings the caller may know of (K3)."""
    found: Caller = request.scope[CALLER]
    return found.owner


def only_query(*names: str) -> Any:
    """Make a dependency that refuses query parameters other than these."""

    async def check(request: Request) -> None:
        for name in request.query_params:
            if name not in names:
                raise refused_field("query", name, UNKNOWN)

    return Depends(check)


IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern="^[!-~]{1,255}$",
        description="1 to 255 visible ASCII characters: the same request with it again gives the first answer.",
    ),
]


async def request_key(
    request: Request, owner: Annotated[OwnerId, Depends(owner)], key: IdempotencyKey = None
) -> RequestKey | None:
    """Read the request's key (H3).

    Raises:
        RequestRefused: validation.
    """
    return None if key is None else key_of(request, owner, key, body_hash(await request.body()))


def key_of(request: Request, owner: OwnerId, key: str, body: bytes) -> RequestKey:
    """Give the key of a request whose body has this hash (H3).

    Raises:
        RequestRefused: validation.
    """
    if len(request.headers.getlist("idempotency-key")) > 1:
        raise refused_field("header", "Idempotency-Key", "should be sent once")
    return RequestKey(owner=owner, method=request.method, path=request.url.path, key=key, body=body)


async def wanted_form(
    request: Request,
    prefer: Annotated[
        list[str] | None, Header(alias="Prefer", description="`respond-async` answers 202 at once (RFC 7240).")
    ] = None,
) -> AnswerForm:
    """Choose the form of a turn's answer (H1).

    Raises:
        RequestRefused: not_acceptable.
    """
    form = answer_form(accept_of(request), prefer or ())
    if form is None:
        raise RequestRefused(ProblemCode.NOT_ACCEPTABLE, f"Accept leaves neither {EVENT_STREAM} nor {JSON}")
    return form


def trace_of(request: Request) -> TraceContext | None:
    """Read the caller's place in a trace; None where it tells none, or what is none."""
    found = [value for name, value in request.scope["headers"] if name == b"traceparent"]
    return read_traceparent(found[0].decode("latin-1")) if len(found) == 1 else None


async def trace(
    request: Request,
    traceparent: Annotated[
        str | None,
        Header(
            description=(
                "The caller's place in a trace (W3C Trace Context). Spans hang below it, and calls of tools are made "
                "in its name. What is none is passed over."
            )
        ),
    ] = None,
) -> TraceContext | None:
    """Read the caller's place in a trace, and describe the header."""
    return trace_of(request)


async def accepts_events(request: Request) -> None:
    """See that the caller takes an event stream.

    Raises:
        RequestRefused: not_acceptable.
    """
    _wanted(request, EVENT_STREAM)


async def accepts_plain_text(request: Request) -> None:
    """See that the caller takes plain text.

    Raises:
        RequestRefused: not_acceptable.
    """
    _wanted(request, PLAIN_TEXT)


async def records_media_type(request: Request) -> str:
    """Choose between a page of records and the export of all.

    Raises:
        RequestRefused: not_acceptable.
    """
    return _wanted(request, JSON, NDJSON)


async def page_or_index(request: Request) -> str:
    """Choose between the dashboard and the list of addresses, which also answers those that take neither."""
    return preferred(accept_of(request), (JSON, HTML)) or JSON


def _wanted(request: Request, *offers: str) -> str:
    chosen = preferred(accept_of(request), offers)
    if chosen is None:
        raise RequestRefused(ProblemCode.NOT_ACCEPTABLE, f"this address answers as {' or '.join(offers)} only")
    return chosen


def accept_of(request: Request) -> str | None:
    """Give what a request says that it takes; None where it says nothing."""
    return ",".join(request.headers.getlist("accept")) if "accept" in request.headers else None


async def resume_after(
    after: Annotated[
        str | None, Query(pattern="^[0-9]+$", description="Resume behind this `pos`, as `Last-Event-ID` does.")
    ] = None,
    last_event_id: Annotated[
        str | None, Header(alias="Last-Event-ID", pattern="^[0-9]*$", description="The last `id` that came.")
    ] = None,
) -> int | None:
    """Read the `pos` to resume behind; None starts from the beginning (H6).

    A browser that reconnects repeats the address it began with, so its header is the newer of the two. Empty, it
    means that no id has come yet.
    """
    place = last_event_id or after
    return None if place is None else _place(place)


async def record_cursor(
    after: Annotated[str, Query(pattern="^[0-9]+$", description="Records behind this `seq`.")] = "0",
) -> int:
    """Read the `seq` to go on behind."""
    return _place(after)


async def record_seq(seq: Annotated[str, Path(pattern="^[1-9][0-9]*$", description="The record's `seq`.")]) -> int:
    """Read the `seq` that an address names."""
    return _place(seq)


def _place(digits: str) -> int:
    significant = digits.lstrip("0")
    if len(significant) > len(str(MAX_PLACE)):
        return MAX_PLACE
    return min(int(significant or "0"), MAX_PLACE)


PageLimit = Annotated[int, Query(ge=1, le=PAGE_MAX, description=f"Items of a page, {PAGE_DEFAULT} unless told.")]
"""How many items a page has at most."""

ApplicationDep = Annotated[Application, Depends(application)]
SettingsDep = Annotated[Settings, Depends(settings)]
CallerDep = Annotated[Caller | None, Depends(caller)]
OwnerDep = Annotated[OwnerId, Depends(owner)]
TraceDep = Annotated[TraceContext | None, Depends(trace)]
RequestKeyDep = Annotated[RequestKey | None, Depends(request_key)]
WantedForm = Annotated[AnswerForm, Depends(wanted_form)]
ResumeAfter = Annotated[int | None, Depends(resume_after)]
RecordCursor = Annotated[int, Depends(record_cursor)]
RecordSeq = Annotated[int, Depends(record_seq)]
RecordsMediaType = Annotated[str, Depends(records_media_type)]
PageOrIndex = Annotated[str, Depends(page_or_index)]
SessionPath = Annotated[SessionId, Path(description="The session's id.")]
TurnPath = Annotated[TurnId, Path(description="The turn's id.")]
