"""Opens what is outside: the store, llama-server, the tool port."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Protocol
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from service.adapters.llama import LlamaHttp, LlamaTimes, build_llama_client
from service.adapters.log_memory import MemoryLog
from service.adapters.log_sql import open_sql_log
from service.adapters.log_sql.writer import Committed
from service.adapters.system import SystemClock
from service.adapters.tools import RequestSigner, ToolPortHttp, build_tool_client
from service.config import Settings
from service.core.secret_masking import SecretMasking
from service.ports import ReadingLog, SessionLog

MEMORY_URL = "memory:"
"""The database URL of a store that ends with the process."""


class Log(SessionLog, ReadingLog, Protocol):
    """One store for sessions and readings."""


async def open_log(stack: AsyncExitStack, settings: Settings, committed: Committed | None = None) -> Log:
    """Open the store, which tells `committed` of each commit; it closes with the stack.

    Raises:
        StoreFailure: it can't be opened; the text says why in one line.
    """
    if settings.database_url == MEMORY_URL:
        return MemoryLog()
    return await stack.enter_async_context(open_sql_log(settings.database_url, committed=committed))


async def open_llama(stack: AsyncExitStack, settings: Settings) -> LlamaHttp:
    """Make the client of llama-server, which need not be there yet; it closes with the stack."""
    key = settings.llama_api_key
    client = build_llama_client(
        settings.llama_url, key.get_secret_value() if key is not None else None, connect_ms=settings.connect_ms
    )
    times = LlamaTimes(
        poll_ms=settings.poll_ms,
        busy_wait_ms=settings.busy_wait_ms,
        load_wait_ms=settings.load_wait_ms,
        idle_grace_ms=settings.idle_grace_ms,
        liveness_ms=settings.liveness_ms,
        progress_ms=settings.progress_ms,
        answer_ms=settings.answer_ms,
    )
    client = await stack.enter_async_context(client)
    return LlamaHttp(client, times, model=settings.model, max_error_body=settings.max_error_body)


async def open_tool_port(stack: AsyncExitStack, settings: Settings) -> ToolPortHttp | None:
    """Make the client of the tool port, None where none is set; it closes with the stack."""
    if settings.tool_port_url is None:
        return None
    token, secret = settings.tool_port_token, settings.tool_port_secret
    client = build_tool_client(
        settings.tool_port_url,
        token.get_secret_value() if token is not None else None,
        connect_timeout_s=settings.connect_ms / 1000,
    )
    client = await stack.enter_async_context(client)
    signer = RequestSigner(secret.get_secret_value(), now=SystemClock().now) if secret is not None else None
    masking = _masking(settings.tool_port_url, token, secret)
    return ToolPortHttp(client, signer=signer, masking=masking, max_body_bytes=settings.max_tool_body_bytes)


def _masking(address: str, *secrets: SecretStr | None) -> SecretMasking:
    """Give what takes these secrets, and the login of the address, out of what is said there (K5)."""
    login = urlsplit(address)
    password = unquote(login.password or "")
    known = [secret.get_secret_value() for secret in secrets if secret is not None]
    return SecretMasking([password, f"{unquote(login.username or '')}:{password}", *known])
