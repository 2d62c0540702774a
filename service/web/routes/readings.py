"""Readings: begin, list, show, follow, cancel (DESIGN section 12)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from json import JSONDecodeError
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from service.bootstrap import Application
from service.config import Settings
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import OwnerId, ReadingId
from service.core.request_key import RequestKey, body_hash
from service.ports.documents import DocumentText, UnreadableDocument
from service.readings.requests import ReadingAsked
from service.web.contract import refusals
from service.web.deps import (
    PAGE_DEFAULT,
    ApplicationDep,
    IdempotencyKey,
    OwnerDep,
    PageLimit,
    ResumeAfter,
    SettingsDep,
    TraceDep,
    WantedForm,
    accepts_events,
    key_of,
    only_query,
)
from service.web.event_stream import EventStream
from service.web.guard import media_type_of
from service.web.negotiation import EVENT_STREAM, JSON, MULTIPART, AnswerForm
from service.web.routes.streaming import READING_STREAM, stream_of_reading
from service.web.schemas.readings import (
    FILES,
    ReadingAnswer,
    ReadingFields,
    ReadingPage,
    ReadingRequest,
)
from service.web.schemas.reference import REF
from service.web.strict_json import StrictJsonRoute
from service.web.uploads import Upload, upload
from service.web.validation import refused_body, refused_field
from service.web.waiting import unless_gone

router = APIRouter(tags=["readings"], route_class=StrictJsonRoute)

ReadingPath = Annotated[ReadingId, Path(description="The reading's id.")]

_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {"schema": {"$ref": REF.format("ReadingRequest")}},
            MULTIPART: {"schema": {"$ref": REF.format("ReadingUpload")}},
        },
    }
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The reading's events until it ends; or, as JSON, the reading then.",
        "content": {EVENT_STREAM: READING_STREAM},
    },
    202: {"description": "It is being read (`Prefer: respond-async`).", "model": ReadingAnswer},
    **refusals(
        ProblemCode.NOT_ACCEPTABLE,
        ProblemCode.QUEUE_FULL,
        ProblemCode.IDEMPOTENCY_MISMATCH,
        ProblemCode.SHUTTING_DOWN,
    ),
}


@asynccontextmanager
async def _asked(
    request: Request, app: ApplicationDep, settings: SettingsDep, owner: OwnerDep, key: IdempotencyKey
) -> AsyncGenerator[tuple[ReadingAsked, RequestKey | None]]:
    """Read what is asked, in either form, and the key of it."""
    try:
        if media_type_of(request.headers) == MULTIPART:
            async with upload(request) as form:
                keyed = None if key is None else key_of(request, owner, key, await form.hash())
                yield await _from_upload(app, settings, form), keyed
        else:
            body = await request.body()
            keyed = None if key is None else key_of(request, owner, key, body_hash(body))
            yield await _from_json(request), keyed
    except ClientDisconnect as left:
        # Nobody gets this.
        raise refused_field("body", "the body", "ends early") from left


async def _from_json(request: Request) -> ReadingAsked:
    if not await request.body():
        raise refused_field("body", "the body", "is required")
    try:
        asked = ReadingRequest.model_validate(await request.json())
    except JSONDecodeError as error:
        raise refused_field("body", "the body", f"is not JSON: {error.msg}") from error
    except ValidationError as error:
        raise refused_body(error) from error
    documents = [document.to_text() for document in asked.documents]
    return ReadingAsked(query=asked.query, documents=documents, options=asked.to_options(len(documents)))


async def _from_upload(app: Application, settings: Settings, form: Upload) -> ReadingAsked:
    try:
        fields = ReadingFields.of_form(form.fields)
    except ValidationError as error:
        raise refused_body(error) from error
    options = fields.to_options(len(form.files))
    documents: list[DocumentText] = []
    left = settings.max_upload_bytes
    for file in form.files:
        try:
            documents.append(await app.documents.read(file))
        except UnreadableDocument as error:
            fault = {"in": "body", "field": FILES, "detail": str(error)}
            raise RequestRefused(ProblemCode.VALIDATION, str(error), extensions={"errors": [fault]}) from error
        # What was packed may be larger than it was: all texts are in memory until they are kept.
        left -= len(documents[-1].text.encode())
        if left < 0:
            most = f"{settings.max_upload_bytes} bytes of text (setting max_upload_bytes)"
            raise refused_field("body", FILES, f"should have together at most {most}; send fewer at a time")
    return ReadingAsked(query=fields.query, documents=documents, options=options)


@router.post(
    "/readings",
    dependencies=[only_query("after", "on_disconnect")],
    response_model=ReadingAnswer,
    responses=_ANSWERS,
    openapi_extra=_BODY,
)
async def begin_reading(
    form: WantedForm,
    app: ApplicationDep,
    owner: OwnerDep,
    settings: SettingsDep,
    trace: TraceDep,
    request: Request,
    key: IdempotencyKey = None,
    on_disconnect: Annotated[
        Literal["cancel"] | None, Query(description="Cancel the reading when the client leaves before its answer.")
    ] = None,
) -> Response:
    """Answer a question over documents of any length, sent as text or as files: by default its events are streamed."""
    async with _asked(request, app, settings, owner, key) as (asked, keyed):
        reading = await app.readings.create(replace(asked, trace=trace), owner, keyed)
    return await _answer(app, reading, owner, form, request, settings, cancel_when_left=on_disconnect is not None)


async def _answer(
    app: Application,
    reading: ReadingId,
    owner: OwnerId,
    form: AnswerForm,
    request: Request,
    settings: Settings,
    *,
    cancel_when_left: bool,
) -> Response:
    path = quote(f"/readings/{reading}")
    headers = {"Content-Location": path}
    if form is AnswerForm.ASYNC:
        headers |= {"Location": path, "Preference-Applied": "respond-async"}
        return _shown(ReadingAnswer.of(await app.readings.view(reading, owner)), 202, headers)
    if form is AnswerForm.JSON:
        view = await unless_gone(request.receive, app.readings.wait(reading, owner))
        if view is None and cancel_when_left:
            app.readings.left(reading, owner)
        # Whoever has left gets nothing, whatever this says.
        return Response(status_code=202) if view is None else _shown(ReadingAnswer.of(view), 200, headers)
    follower = await app.readings.follow(reading, owner, after_pos=None, live=True)
    when_left = partial(app.readings.left, reading, owner) if cancel_when_left else None
    return stream_of_reading(follower, reading, settings, headers, when_left)


def _shown(answer: ReadingAnswer, status: int, headers: dict[str, str]) -> Response:
    return Response(answer.model_dump_json(), status, headers, media_type=JSON)


@router.get("/readings", dependencies=[only_query("limit", "after")], responses=refusals())
async def list_readings(
    app: ApplicationDep,
    owner: OwnerDep,
    limit: PageLimit = PAGE_DEFAULT,
    after: Annotated[ReadingId | None, Query(description="`next` of the page before.")] = None,
) -> ReadingPage:
    """List readings, newest first, page by page."""
    views, following = await app.readings.page(owner, limit=limit, after=after)
    return ReadingPage(items=[ReadingAnswer.of(view) for view in views], next=following)


@router.get("/readings/{reading}", dependencies=[only_query()], responses=refusals(ProblemCode.NOT_FOUND))
async def get_reading(reading: ReadingPath, app: ApplicationDep, owner: OwnerDep) -> ReadingAnswer:
    """Show a reading."""
    return ReadingAnswer.of(await app.readings.view(reading, owner))


@router.get(
    "/readings/{reading}/events",
    dependencies=[only_query("after"), Depends(accepts_events)],
    status_code=200,
    response_class=EventStream,
    responses={
        200: {"description": "The events until the reading ends.", "content": {EVENT_STREAM: READING_STREAM}},
        204: {"description": "Resumed at or past its end: nothing more will come."},
        **refusals(ProblemCode.NOT_FOUND, ProblemCode.NOT_ACCEPTABLE),
    },
)
async def stream_reading_events(
    reading: ReadingPath, after: ResumeAfter, app: ApplicationDep, owner: OwnerDep, settings: SettingsDep
) -> Response:
    """Stream a reading's events: from its first record on or from behind a cursor; the stream ends with the reading."""
    follower = await app.readings.follow(reading, owner, after_pos=after)
    return stream_of_reading(follower, reading, settings)


@router.post(
    "/readings/{reading}/cancel",
    status_code=202,
    dependencies=[only_query()],
    responses={
        200: {"description": "The reading had ended before.", "model": ReadingAnswer},
        **refusals(ProblemCode.NOT_FOUND, ProblemCode.SHUTTING_DOWN),
    },
)
async def cancel_reading(
    reading: ReadingPath, app: ApplicationDep, owner: OwnerDep, response: Response
) -> ReadingAnswer:
    """Cancel a reading; what was read so far stays in its log. Safe to repeat."""
    view, was_finished = await app.readings.cancel(reading, owner)
    response.status_code = 200 if was_finished else 202
    return ReadingAnswer.of(view)
