"""`GET {port}/tools` and `POST {port}/calls`: how they are asked and fetched.

Above: `bootstrap`, and the loop by the protocol `ToolPort`. Below: httpx, `signing`, `trouble`. What an answer means
is the core's business (`capped_body.py`, `port_answer.py`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus

import httpx
import structlog

from service.adapters.tools.signing import RequestSigner
from service.adapters.tools.trouble import TROUBLE, told_status, told_trouble
from service.codec import format_time
from service.core.capped_body import CappedBody, ReadBody, UnreadableBody
from service.core.errors import ToolPortFailure
from service.core.json_types import JsonObject
from service.core.port_answer import failed_answer, read_answer, read_tool_list
from service.core.secret_masking import SecretMasking
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolRequest

log = structlog.get_logger(__name__)

MAX_BODY_BYTES = 8 * 1024 * 1024
"""Read of one answer, after decompression (X2)."""

LIST_TIMEOUT_S = 10.0
"""For the whole exchange of a list; a port that needs longer can't be told from one that hangs."""


class _NoExchange(Exception):
    """There is no usable answer; the text completes "the tool port …"."""


class ToolPortHttp:
    """The tool port behind a client that its maker closes."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        signer: RequestSigner | None = None,
        masking: SecretMasking | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
        list_timeout_s: float = LIST_TIMEOUT_S,
    ) -> None:
        self._client = client
        self._signer = signer
        self._masking = masking or SecretMasking()
        self._max_body_bytes = max_body_bytes
        self._list_timeout_s = list_timeout_s

    async def list_tools(self) -> Sequence[JsonObject]:
        """Fetch the port's list as it is; checking it is a rule of the core (X3).

        Raises:
            ToolPortFailure: the list can't be had.
        """
        return read_tool_list(await self.fetch_list())

    async def fetch_list(self) -> bytes:
        """Fetch what the port answers when it is asked for its list, our secrets masked in it.

        Raises:
            ToolPortFailure: there is no answer, or one that is too long.
        """
        try:
            body = await self._exchange("GET", "tools", timeout_s=self._list_timeout_s)
        except _NoExchange as failure:
            raise ToolPortFailure(f"the tool port {failure}") from failure
        if body.cut:
            raise ToolPortFailure(f"the tool port answered with a list of more than {self._max_body_bytes} bytes")
        text = self._masking.masked(body.content.decode(errors="surrogateescape"))
        return text.encode(errors="surrogateescape")

    async def call(self, request: ToolRequest) -> ToolAnswer:
        """Run one call. Whatever goes wrong is an answer with status `failed`, never an exception (X1).

        A cancel closes the connection at once.
        """
        try:
            content = _encoded(request)
        except (ValueError, RecursionError):
            return ToolAnswer(status=AnswerStatus.FAILED, text="the arguments can't be written as JSON")
        try:
            body = await self._exchange(
                "POST",
                "calls",
                timeout_s=request.timeout_ms / 1000,
                content=content,
                request_id=request.idempotency_key,
                headers={
                    "Content-Type": "application/json",
                    # The quotes are part of it: the header is a structured field, its value a string.
                    "Idempotency-Key": f'"{request.idempotency_key}"',
                    "traceparent": request.trace.traceparent,
                },
            )
        except _NoExchange as failure:
            return failed_answer(str(failure))
        answer = read_answer(body.content, cut=body.cut)
        # A port may repeat the token that it was sent; nobody else is to have it (K5).
        return replace(answer, text=self._masking.masked(answer.text))

    async def _exchange(
        self,
        method: str,
        path: str,
        *,
        timeout_s: float,
        content: bytes = b"",
        request_id: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ReadBody:
        signed = {} if self._signer is None else self._signer.headers(content, request_id=request_id)
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._client.stream(
                    method, path, content=content or None, headers={**(headers or {}), **signed}
                ) as response,
            ):
                if response.status_code != HTTPStatus.OK:
                    raise _NoExchange(told_status(response.status_code, signed=self._signer is not None))
                return await self._read(response)
        except UnreadableBody as error:
            fault = str(error)
        except TimeoutError:
            fault = f"did not answer within {timeout_s:g} s"
        except TROUBLE as error:
            log.warning("tool_port.no_exchange", path=path, error=type(error.__cause__ or error).__name__)
            fault = told_trouble(error)
        # Not in an `except`: aiohttp's errors hold the headers of the request, and would be told as the cause (K5).
        raise _NoExchange(fault)

    async def _read(self, response: httpx.Response) -> ReadBody:
        body = CappedBody(response.headers.get("Content-Encoding", ""), self._max_body_bytes)
        async for chunk in response.aiter_raw():
            body.feed(chunk)
            if body.is_cut:
                break
        return body.finish()


def _encoded(request: ToolRequest) -> bytes:
    members: JsonObject = {
        "session": request.session,
        "turn": request.turn,
        "call": request.call,
        "tool": request.tool,
        "arguments": request.arguments,
    }
    approval = request.approval
    if approval is not None:
        members["approval"] = {
            "by": approval.by,
            "reason": approval.reason,
            "digest": approval.digest,
            "decided_at": format_time(approval.decided_at),
        }
    return json.dumps(members, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
