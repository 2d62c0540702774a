"""Fixtures of the web layer's tests."""

from collections.abc import AsyncGenerator

import httpx
import pytest

from tests.web.fakes import FakeApplication, FakeSessions
from tests.web.hand_time import HandTime, stop_time
from tests.web.serving import Served, called, served


@pytest.fixture
def application() -> FakeApplication:
    return FakeApplication()


@pytest.fixture
def sessions(application: FakeApplication) -> FakeSessions:
    return application.sessions


@pytest.fixture
async def http(application: FakeApplication) -> AsyncGenerator[httpx.AsyncClient]:
    async with called(application) as client:
        yield client


@pytest.fixture
async def service(application: FakeApplication) -> AsyncGenerator[Served]:
    async with served(application) as running:
        yield running


@pytest.fixture
def hand_time(monkeypatch: pytest.MonkeyPatch) -> HandTime:
    return stop_time(monkeypatch)
