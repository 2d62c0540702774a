"""A look at the tool port for `turnkeeper doctor`: its list, how long it took, and what came instead of one.

Above: `bootstrap`. Below: the port's own client, so that what is seen is what sessions would get.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

from service.adapters.tools.port import ToolPortHttp
from service.core.diagnosis.tool_port import PortReach
from service.core.errors import ToolPortFailure
from service.core.json_types import JsonObject
from service.core.port_answer import read_down_servers, read_tool_list
from service.core.tool_port import DownServer

_REFUSED = (401, 403)
# A timer may ring a little before its time by another clock.
_NEARLY = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSight:
    """What asking for the list brought; `said` completes "the tool port …" where it brought none."""

    reach: PortReach
    said: str = ""
    tools: Sequence[JsonObject] = ()
    down: tuple[DownServer, ...] = ()
    took_s: float = 0.0
    date: str = ""


class PortLook:
    """Asks the port behind a client; `now` gives seconds that never go back."""

    def __init__(
        self, client: httpx.AsyncClient, port: ToolPortHttp, *, list_timeout_s: float, now: Callable[[], float]
    ):
        self._port = port
        self._list_timeout_s = list_timeout_s
        self._now = now
        self._answer: httpx.Response | None = None
        client.event_hooks["response"].append(self._take)

    async def look(self) -> ListSight:
        """Ask for the list once."""
        self._answer = None
        began = self._now()
        try:
            body = await self._port.fetch_list()
            tools = read_tool_list(body)
        except ToolPortFailure as failure:
            took_s = self._now() - began
            return ListSight(reach=self._reach(took_s), said=str(failure), took_s=took_s, date=self._date())
        took_s = self._now() - began
        return ListSight(
            reach=PortReach.ANSWERS, tools=tools, down=read_down_servers(body), took_s=took_s, date=self._date()
        )

    def _reach(self, took_s: float) -> PortReach:
        if self._answer is None:
            return PortReach.SILENT if took_s >= _NEARLY * self._list_timeout_s else PortReach.AWAY
        if self._answer.status_code in _REFUSED:
            return PortReach.REFUSED
        return PortReach.SOMETHING_ELSE

    def _date(self) -> str:
        return "" if self._answer is None else self._answer.headers.get("Date", "")

    async def _take(self, response: httpx.Response) -> None:
        self._answer = response
