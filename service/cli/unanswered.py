"""How a command that talks to a service ends without an answer: it is away, it refuses, or the person leaves."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from service.cli.failure import INTERRUPTED, fail
from service.core.visible import visible

_SHOWN = 2000


class LeftEarly(Exception):
    """The person at the terminal has left before the end; the message says what becomes of what was asked for."""


@contextmanager
def told_in_one_line(address: str) -> Generator[None]:
    """End the command with one line where the service at this address gives no answer, or nobody waits for it.

    Raises:
        typer.Exit: the body ended so.
    """
    # Imported here, so that --help and --version don't load all of it.
    from service.cli.refusals import refusal_in_words
    from service.ports.running_service import ServiceAway, ServiceTrouble

    try:
        yield
    except LeftEarly as left:
        fail(str(left), exit_code=INTERRUPTED)
    except KeyboardInterrupt:
        fail("interrupted", exit_code=INTERRUPTED)
    except ServiceAway:
        shown = visible(address, _SHOWN)
        fail(f"no service answers at {shown}; start one with turnkeeper serve, or say where it is with --url")
    except ServiceTrouble as trouble:
        fail(refusal_in_words(trouble))
