"""One llama-server for each template, shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.live.client import Client
from tests.live.processes import DEMO, TEMPLATES, example_port, llama_server, service

PATIENCE_S = 240
"""What a test may take where it does not say so itself: a model on cores that others use as well takes its time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of this folder their time."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(PATIENCE_S))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("live")


@pytest.fixture(scope="session")
def tool_port_url(folder: Path) -> Iterator[str]:
    with example_port(folder) as address:
        yield address


@pytest.fixture(scope="session")
def wrapped_llama(folder: Path) -> Iterator[str]:
    """A template that makes the small model call tools."""
    with llama_server(TEMPLATES / "chatml-tools-wrapped.jinja", folder) as address:
        yield address


@pytest.fixture(scope="session")
def thinking_llama(folder: Path) -> Iterator[str]:
    """A template with a thought before each answer."""
    with llama_server(TEMPLATES / "chatml-think-drop.jinja", folder) as address:
        yield address


@pytest.fixture(scope="session")
def demo_llama(folder: Path) -> Iterator[str]:
    """The template of the demo."""
    with llama_server(DEMO / "chatml-demo.jinja", folder) as address:
        yield address


@pytest.fixture(scope="session")
def wrapped_service(wrapped_llama: str, tool_port_url: str, folder: Path) -> Iterator[str]:
    with service(wrapped_llama, tool_port_url, folder) as address:
        yield address


@pytest.fixture(scope="session")
def thinking_service(thinking_llama: str, tool_port_url: str, folder: Path) -> Iterator[str]:
    with service(thinking_llama, tool_port_url, folder) as address:
        yield address


@pytest.fixture(scope="session")
def demo_service(demo_llama: str, tool_port_url: str, folder: Path) -> Iterator[str]:
    with service(demo_llama, tool_port_url, folder, agents_file=str(DEMO / "agents.toml")) as address:
        yield address


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=PATIENCE_S, trust_env=False) as client:
        yield client


@pytest.fixture
def wrapped(wrapped_service: str, http: httpx.AsyncClient) -> Client:
    return Client(wrapped_service, http)


@pytest.fixture
def thinking(thinking_service: str, http: httpx.AsyncClient) -> Client:
    return Client(thinking_service, http)


@pytest.fixture
def demo(demo_service: str, http: httpx.AsyncClient) -> Client:
    return Client(demo_service, http)
