"""`turnkeeper serve`: run the service until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Annotated

import typer
import uvicorn

from service import __version__
from service.cli.failure import FAILED, WRONG_USE, fail
from service.cli.listening import CannotListen, listen, url_of
from service.cli.logs import configure_logs
from service.cli.open_files import connections_that_fit
from service.cli.sd_notify import READY, STOPPING, notify
from service.cli.service_keys import service_keys
from service.cli.settings import settings_or_fail

if TYPE_CHECKING:
    from service.bootstrap import Application
    from service.config import Settings
    from service.ports.api_keys import ApiKeys

# How long responses that are still open get when all turns and streams have ended, in seconds (H8).
CLOSE_S = 4

_NEW_OBJECTS_LOOKED_AT = 7_000

Drain = Callable[[], Awaitable[None]]
"""Ends the streams and gives running turns their time."""


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on (8000).")] = None,
    llama_url: Annotated[str | None, typer.Option(help="Where llama-server answers.")] = None,
    tool_port_url: Annotated[str | None, typer.Option(help="Where the tool port answers.")] = None,
    database_url: Annotated[str | None, typer.Option(help="The store: sqlite:///PATH or memory:")] = None,
) -> None:
    """Run the service. Settings come from TURNKEEPER_* and turnkeeper.toml; options here win over both."""
    settings = settings_or_fail(
        host=host, port=port, llama_url=llama_url, tool_port_url=tool_port_url, database_url=database_url
    )
    _tell_unknown_variables()
    keys = service_keys(settings.api_keys_file)
    try:
        listening = listen(settings.host, settings.port)
    except CannotListen as error:
        fail(f"{error}; choose another with --host and --port, or TURNKEEPER_HOST and TURNKEEPER_PORT")
    # Imported here, so that --help and --version don't load the web framework and the store.
    from service.config import SettingsError
    from service.core.errors import StoreFailure

    configure_logs()
    config = uvicorn.Config("", loop="auto", log_config=None)
    with listening, asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        try:
            runner.run(_serve(settings, keys, listening))
        except SettingsError as error:
            fail(str(error), exit_code=WRONG_USE)
        except StoreFailure as error:
            fail(str(error))


async def _serve(settings: Settings, keys: ApiKeys | None, listening: socket.socket) -> None:
    from service.bootstrap import build, store_to_be_made
    from service.web.app import create_app
    from service.web.connection_bounds import bounds_of
    from service.web.connections import bounded_connections

    bounds = bounds_of(settings, _connections(settings.max_connections))
    new_store = store_to_be_made(settings.database_url)
    async with build(settings) as application:
        if new_store is not None:
            # A slip in the address would otherwise look as if all sessions were gone.
            typer.echo(f"turnkeeper: there was no store {new_store}, so a new one was made", err=True)
        app = create_app(settings, lambda _: contextlib.nullcontext(application), keys)
        config = uvicorn.Config(
            app,
            http=bounded_connections(bounds),
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=CLOSE_S,
        )
        listens = asyncio.Event()
        server = DrainingServer(
            config, drain=lambda: application.shut_down(settings.drain_s), listens=lambda: _listens(listening, listens)
        )
        telling = asyncio.create_task(_tell_missing(application, listens), name="tell what is missing")
        try:
            await server.serve(sockets=[listening])
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
    if not server.started:
        raise typer.Exit(FAILED)


def _listens(listening: socket.socket, listens: asyncio.Event) -> None:
    typer.echo(f"turnkeeper {__version__} at {url_of(listening)}, Ctrl-C to stop", err=True)
    notify(READY)
    listens.set()


async def _tell_missing(application: Application, listens: asyncio.Event) -> None:
    await listens.wait()
    async for line in application.missing():
        typer.echo(f"turnkeeper: {line}", err=True)


class DrainingServer(uvicorn.Server):
    """uvicorn, but streams and turns end before connections are closed (H8)."""

    def __init__(self, config: uvicorn.Config, *, drain: Drain, listens: Callable[[], None]) -> None:
        super().__init__(config)
        self._drain = drain
        self._listens = listens

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so when connections are taken: whoever waits for the word comes at once."""
        await super().startup(sockets)
        # What is there now stays: a collection that looks at all of it takes 20 ms, in which no token is handed on,
        # and makes a turn a tenth dearer.
        gc.collect()
        gc.freeze()
        # Little of what a turn makes refers to itself: to look for that every 700 objects is 4 % of its CPU.
        gc.set_threshold(_NEW_OBJECTS_LOOKED_AT)
        if self.started:
            self._listens()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Take SIGINT and SIGTERM while the server runs.

        uvicorn's own raises the signal once more at its end, and the process would die before the store is closed.
        """
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then close; a second Ctrl-C leaves out the draining."""
        notify(STOPPING)
        draining = asyncio.ensure_future(self._drain())
        while not (draining.done() or self.force_exit):
            # uvicorn's handler can only set a flag, so it is looked at now and then.
            await asyncio.wait({draining}, timeout=0.1)
        draining.cancel()
        await asyncio.gather(draining, return_exceptions=True)
        await super().shutdown(sockets)


def _connections(asked: int) -> int:
    fit = connections_that_fit(asked)
    if fit < asked:
        reason = "the system lets this process open no more files (ulimit -n)"
        typer.echo(f"turnkeeper: {fit} connections are taken and not {asked}: {reason}", err=True)
    return fit


def _tell_unknown_variables() -> None:
    from service.config import unknown_variables

    for name in unknown_variables():
        typer.echo(f"turnkeeper: {name} is no setting and is ignored", err=True)
