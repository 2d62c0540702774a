"""The fixture of these tests: a service with keys behind each of the proxies, started once for a module."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.proxy.behind import Behind, behind
from tests.proxy.proxies import RUNS
from tests.web.fake_keys import FakeKeys


@pytest.fixture(scope="module", params=RUNS)
async def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Behind]:
    """Have a service behind one of the proxies."""
    name: str = request.param
    async with behind(tmp_path_factory.mktemp(name), RUNS[name], keys=FakeKeys()) as started:
        yield started
