"""The tools that new sessions may have: the port's list, checked, with the last good copy at hand (X3)."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from service.core.errors import ProblemCode, RequestRefused, ToolPortFailure
from service.core.tool_port import LeftOutTool, ToolSpec
from service.core.tool_specs import check_specs
from service.ports import ToolPort
from service.turns.spec_probe import SpecProbe

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolListing:
    """What the port offers, and what of it can't be offered and why."""

    specs: tuple[ToolSpec, ...] = ()
    left_out: tuple[LeftOutTool, ...] = ()


class ToolCatalog:
    """Fetches the port's list for each new session; keeps the last one for when the port is away.

    Left out is also what the model server would refuse each request for.
    """

    def __init__(self, port: ToolPort | None, probe: SpecProbe) -> None:
        self._port = port
        self._probe = probe
        self._known: ToolListing | None = None if port is not None else ToolListing()

    @property
    def configured(self) -> bool:
        """Whether there is a tool port at all."""
        return self._port is not None

    async def listing(self) -> ToolListing:
        """Give the port's list as it is now, or the last one that was had.

        Raises:
            RequestRefused: the port is away and no list was ever had (`tool_port_unavailable`).
        """
        try:
            return await self.fetch()
        except ToolPortFailure as failure:
            log.warning("tool_port.list_failed", reason=str(failure), known=self._known is not None)
            if self._known is None:
                raise RequestRefused(
                    ProblemCode.TOOL_PORT_UNAVAILABLE,
                    f"The tool port can't be asked for its tools ({failure}). Start it, or make the session with "
                    'no tools: {"tools": {"names": []}}.',
                ) from failure
            return self._known

    async def fetch(self) -> ToolListing:
        """Ask the port now.

        Raises:
            ToolPortFailure: the list can't be had.
        """
        if self._port is None:
            return ToolListing()
        specs, left_out = check_specs(await self._port.list_tools())
        probed = await self._probe.look(specs)
        self._known = ToolListing(specs=probed.specs, left_out=left_out + probed.refused)
        return self._known
