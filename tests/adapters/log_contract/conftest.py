"""The stores under test, each in an empty folder."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.adapters.log_contract.stores import LASTING, STORES, OpenStore, Store


@pytest.fixture(params=list(STORES))
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    """Give an empty store of each kind."""
    open_store: OpenStore = STORES[request.param]
    async with open_store(tmp_path) as opened:
        yield opened


@pytest.fixture(params=list(LASTING))
def open_lasting(request: pytest.FixtureRequest) -> OpenStore:
    """Give what opens a store of each kind that outlives its process."""
    return LASTING[request.param]
