"""The log of a session: page by page as JSON, or exported whole as one JSON object a line; a cut result in full."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from service.bootstrap import Application
from service.codec import encode_stored
from service.core.errors import ProblemCode
from service.core.ids import OwnerId, SessionId
from service.core.json_lines import one_line
from service.ports import StoredRecord
from service.web.contract import refusals
from service.web.deps import (
    PAGE_DEFAULT,
    PAGE_MAX,
    ApplicationDep,
    OwnerDep,
    RecordCursor,
    RecordSeq,
    RecordsMediaType,
    SessionPath,
    accepts_plain_text,
    only_query,
)
from service.web.negotiation import JSON, NDJSON
from service.web.schemas.events import SESSION_RECORD
from service.web.schemas.listings import RecordPage
from service.web.schemas.reference import REF
from service.web.strict_json import StrictJsonRoute

router = APIRouter(tags=["records"], route_class=StrictJsonRoute)

LimitAsked = Annotated[
    int | None,
    Query(ge=1, le=PAGE_MAX, description=f"Records of a page, {PAGE_DEFAULT} unless told; an export has no limit."),
]


@router.get(
    "/sessions/{session}/records",
    dependencies=[only_query("limit", "after")],
    response_model=RecordPage,
    responses={
        200: {
            "description": "A page of records; or all of them behind `after`, each of them a line of JSON.",
            "content": {NDJSON: {"schema": {"$ref": REF.format(SESSION_RECORD)}}},
        },
        **refusals(ProblemCode.NOT_FOUND, ProblemCode.NOT_ACCEPTABLE),
    },
)
async def list_records(
    session: SessionPath,
    after: RecordCursor,
    media_type: RecordsMediaType,
    app: ApplicationDep,
    owner: OwnerDep,
    request: Request,
    limit: LimitAsked = None,
) -> Response:
    """Show the log by `seq`."""
    headers = {"Vary": "Accept"}
    if media_type == JSON:
        page_size = limit or PAGE_DEFAULT
        # One more than is shown, to know whether there is more.
        records = await app.sessions.records(session, owner, after=after, limit=page_size + 1)
        return Response(_page(records, page_size), headers=headers, media_type=JSON)
    # The first page is read before the answer begins, so that a session that is not there is a 404.
    first = await app.sessions.records(session, owner, after=after, limit=limit or PAGE_MAX)
    if request.method == "HEAD" or limit is not None:
        return Response(_lines(first), headers=headers, media_type=NDJSON)
    return StreamingResponse(_export(app, session, owner, first), headers=headers, media_type=NDJSON)


@router.get(
    "/sessions/{session}/records/{seq}/full",
    dependencies=[only_query(), Depends(accepts_plain_text)],
    response_class=PlainTextResponse,
    responses={
        200: {"description": "The whole text, also of a result of which the model was shown a part."},
        **refusals(ProblemCode.NOT_FOUND, ProblemCode.NOT_ACCEPTABLE),
    },
)
async def get_full_result(session: SessionPath, seq: RecordSeq, app: ApplicationDep, owner: OwnerDep) -> Response:
    """Show a tool's result in full."""
    return PlainTextResponse(await app.sessions.full_text(session, owner, seq))


def _page(records: Sequence[StoredRecord], size: int) -> bytes:
    shown = records[:size]
    following = b"%d" % shown[-1].seq if len(records) > size else b"null"
    items = b",".join(encode_stored(record) for record in shown)
    hashes = b",".join(b'"%s"' % record.hash.hex().encode() for record in shown)
    return b'{"items":[%s],"next":%s,"hashes":[%s]}' % (items, following, hashes)


async def _export(
    app: Application, session: SessionId, owner: OwnerId, first: Sequence[StoredRecord]
) -> AsyncGenerator[bytes]:
    page = first
    while page:
        yield _lines(page)
        page = await app.sessions.records(session, owner, after=page[-1].seq, limit=PAGE_MAX)


def _lines(records: Sequence[StoredRecord]) -> bytes:
    return b"".join(one_line(encode_stored(record)) + b"\n" for record in records)
