"""Many things at the same time, of which the first that fails ends all.

Above: the modes. Below: nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

_T = TypeVar("_T")


async def together(coroutines: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Run all at the same time and give what they gave, in order; what the first failure raised is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return [task.result() for task in tasks]
