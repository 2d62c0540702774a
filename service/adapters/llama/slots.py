"""One look at `/slots`: a fact in every case, never an error (L2)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import httpx

from service.adapters.llama.answers import whole_body
from service.adapters.llama.failures import NETWORK_ERRORS, failure_of_request
from service.core.errors import ErrorKind, ModelFailure, UpstreamHttp
from service.core.head_wait import Sight, sight_of_status
from service.core.json_types import JsonValue
from service.core.slot_state import SlotState, read_slot_states
from service.core.slots_report import SlotsReport, read_slots

_OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a look shows; `slots` is None when they can't be had."""

    sight: Sight
    slots: SlotsReport | None = None


class Slots:
    """Asks one server for its slots; a router needs the `model` for that, and only then is it sent."""

    def __init__(self, client: httpx.AsyncClient, *, model: str | None, answer_ms: int) -> None:
        self._client = client
        self._parameters = {"model": model} if model is not None else None
        self._answer_s = answer_ms / 1000

    async def look(self) -> Look:
        """Ask, and wait for the answer for its time."""
        try:
            async with asyncio.timeout(self._answer_s):
                return await self._ask()
        except TimeoutError:
            return Look(sight=Sight.SILENT)
        except ModelFailure:
            return Look(sight=Sight.UNTOLD)
        except NETWORK_ERRORS as error:
            # No HTTP is an answer of some kind; a connection that is lost is as good as none.
            spoke = failure_of_request(error, "").kind is ErrorKind.PROTOCOL
            return Look(sight=Sight.UNTOLD if spoke else Sight.UNREACHABLE)

    async def states(self) -> tuple[SlotState, ...]:
        """Ask for the state of each slot.

        Raises:
            ModelFailure: the server is away, or does not tell them.
        """
        try:
            async with asyncio.timeout(self._answer_s):
                status, body = await self._get()
        except TimeoutError as error:
            raise ModelFailure(ErrorKind.CONNECT, "llama-server did not tell its slots in time") from error
        except NETWORK_ERRORS as error:
            raise failure_of_request(error, str(self._client.base_url).rstrip("/")) from error
        if status != _OK:
            raise UpstreamHttp(status, f"llama-server does not tell its slots: it answered {status}")
        return read_slot_states(_json(body))

    async def _ask(self) -> Look:
        status, body = await self._get()
        if status != _OK:
            return Look(sight=sight_of_status(status))
        slots = read_slots(_json(body))
        if slots is None:
            return Look(sight=Sight.UNTOLD)
        return Look(sight=Sight.A_SLOT_WORKS if slots.works else Sight.NO_SLOT_WORKS, slots=slots)

    async def _get(self) -> tuple[int, bytes]:
        request = self._client.build_request("GET", "slots", params=self._parameters)
        response = await self._client.send(request, stream=True)
        try:
            # Only a good answer is read: what a refusal says in words is of no use here.
            return response.status_code, await whole_body(response) if response.status_code == _OK else b""
        finally:
            await response.aclose()


def _json(body: bytes) -> JsonValue:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
