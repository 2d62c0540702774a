"""What every test gets: asyncio as the event loop, and an error for each call that would block it."""

import os
from collections.abc import Iterator

import pytest
import structlog
from blockbuster import blockbuster_ctx

pytest_plugins = ["tests.secrets.plugin"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio, which is what uvicorn runs the service on."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def no_blocking_call_in_the_loop() -> Iterator[None]:
    """Make a blocking call an error when code of the service makes it inside the event loop.

    The command line is left out: its loop only watches child processes, and nothing else waits for it.
    """
    with blockbuster_ctx(scanned_modules=["service"], excluded_modules=["service.cli"]) as detector:
        # The file of keys is looked at for each request, so that one that is revoked is so at once: 4 µs, and 2 ms to
        # read it again when it has changed.
        for name in ("os.stat", "io.BufferedReader.read"):
            detector.functions[name].can_block_in("service/adapters/key_file/watched.py", "_look")
        yield


@pytest.fixture(scope="session", autouse=True)
def logs_without_tracebacks() -> None:
    """Render log lines without reading source files, which would block the loop."""
    structlog.configure(processors=[structlog.processors.KeyValueRenderer()])


@pytest.fixture(scope="session", autouse=True)
def settings_of_the_tests_alone() -> Iterator[None]:
    """Hide the settings in the environment of whoever runs the tests."""
    hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("TURNKEEPER_")}
    yield
    os.environ.update(hidden)
