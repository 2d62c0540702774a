"""`current_time`: a tool whose answer changes by itself, so it is `repeatable`."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from service.example_port.tools import Call, Tool, object_schema
from service.port_wire.answers import Answer, Failed, Result

DEFAULT_ZONE = "UTC"


def _zone(name: str) -> tzinfo | None:
    """Find an IANA zone. UTC needs no time zone database, which small images do not have."""
    if name == DEFAULT_ZONE:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # KeyError: not found; ValueError: a path or a NUL; OSError: a folder of the tzdata package: "Europe".
        return None


def clock_tools(now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> tuple[Tool, ...]:
    """Give the clock. `now` returns an aware time."""

    async def current_time(call: Call) -> Answer:
        name = call.text("zone") if "zone" in call.arguments else DEFAULT_ZONE
        # The zone's data is read from a file, and a tool must not block the event loop.
        zone = await asyncio.to_thread(_zone, name)
        if zone is None:
            return Failed(message=f"no time zone {name!r}; use a name such as Europe/Paris or {DEFAULT_ZONE}")
        local = now().astimezone(zone)
        return Result(content={"time": local.isoformat(timespec="seconds"), "weekday": f"{local:%A}", "zone": name})

    return (
        Tool(
            name="current_time",
            title="Clock",
            description="Get the current date and time, in UTC or in an IANA time zone",
            parameters=object_schema({}, {"zone": {"type": "string", "description": "such as Europe/Paris"}}),
            run=current_time,
            repeatable=True,
            idempotent=True,
            timeout_ms=10_000,
        ),
    )
