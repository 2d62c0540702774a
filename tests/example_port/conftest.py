"""Fixtures of the example port's tests."""

from collections.abc import AsyncGenerator

import pytest

from service.example_port.app import create_app
from tests.example_port.port_client import PortClient, connected


@pytest.fixture
async def port() -> AsyncGenerator[PortClient]:
    async with connected(create_app()) as client:
        yield client
