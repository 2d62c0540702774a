"""Keep the demo's processes together: all up, or all down."""

import asyncio
from collections.abc import Callable

from service.cli.demo.children import Child, Children
from service.cli.demo.plan import Plan
from service.cli.demo.readiness import NeverReady, wait_until_ready

READY_WITHIN_S = 120.0


class DemoFailed(Exception):
    """The demo ended by itself; the message is what the person at the terminal needs to see."""


async def supervise(
    plan: Plan, children: Children, when_ready: Callable[[], None], *, ready_within_s: float = READY_WITHIN_S
) -> None:
    """Start all processes, call `when_ready` once the service is ready, and run until cancelled.

    Raises:
        DemoFailed: a process ended, or the service wasn't ready within the bound.
    """
    async with children:
        started = [await children.start(command) for command in plan.commands]
        first_end = asyncio.create_task(children.first_end(), name="first end of a child")
        ready = asyncio.create_task(
            wait_until_ready(f"{plan.service_url}/readyz", within_s=ready_within_s), name="readiness"
        )
        try:
            await asyncio.wait((first_end, ready), return_when=asyncio.FIRST_COMPLETED)
            if not first_end.done():
                await _report_never_ready(ready, started)
                when_ready()
            ended = await first_end
        finally:
            ready.cancel()
            first_end.cancel()
            await asyncio.gather(ready, first_end, return_exceptions=True)
    raise DemoFailed(f"{ended.name} {ended.how_it_ended()}; the end of its log:\n{ended.last_lines()}")


async def _report_never_ready(ready: asyncio.Task[None], started: list[Child]) -> None:
    try:
        await ready
    except NeverReady as error:
        last = started[-1]
        message = f"{error}\nThe end of the log of {last.name}:\n{last.last_lines()}"
        raise DemoFailed(message) from error
