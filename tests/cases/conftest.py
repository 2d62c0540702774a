"""The fixture of these tests: a whole service that is taken down again, and a model server that refused nothing."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cases.fake_port import FakePort
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import Start, WholeService, service_over


@pytest.fixture
async def start(tmp_path: Path) -> AsyncGenerator[Start]:
    """Start a service over a model server and a tool port; at the end no prompt may have been refused."""
    models: list[StrictLlama] = []
    async with AsyncExitStack() as stack:

        async def started(llama: StrictLlama, port: FakePort | None = None, **settings: Any) -> WholeService:
            models.append(await stack.enter_async_context(llama))
            if port is not None:
                await stack.enter_async_context(port)
            return await stack.enter_async_context(service_over(tmp_path, llama, port, **settings))

        yield started
    assert [llama.refusals for llama in models] == [[] for _ in models]
