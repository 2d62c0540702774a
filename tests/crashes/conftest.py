"""The service that is killed again and again."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.crashes.chain import Chain, chain_in


@pytest.fixture(scope="module")
async def chain(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Chain]:
    """One pair of fakes and one store for all tests of a module."""
    async with chain_in(tmp_path_factory.mktemp("crashes")) as started:
        yield started
