"""Opens the tracer: the one that the settings ask for, or one that keeps nothing."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack

from service.access.untraced import Untraced
from service.config import Settings
from service.config.settings import SettingsError
from service.ports import Tracer

_DISABLED = "OTEL_SDK_DISABLED"


async def open_tracer(stack: AsyncExitStack, settings: Settings) -> Tracer:
    """Make the tracer; what it keeps is sent with the stack's end.

    Raises:
        SettingsError: spans are wanted, and the packages for them are not installed.
    """
    # The library would give spans without ids then, of which the tool port would be told.
    disabled = os.environ.get(_DISABLED, "").strip().lower() == "true"
    if settings.traces_url is None or disabled:
        return Untraced()
    try:
        from service.adapters.traces.provider import traces_to
    except ModuleNotFoundError as missing:
        raise SettingsError(
            "traces_url is set, and the packages for traces are not installed: pip install 'turnkeeper[traces]'"
        ) from missing
    return await stack.enter_async_context(
        traces_to(
            settings.traces_url,
            settings.llama_url,
            share=settings.traces_share,
            content=settings.traces_content,
        )
    )
