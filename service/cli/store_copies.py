"""What `backup` and `restore` say and share: what is in a copy, and an end by Ctrl-C that leaves nothing behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from service.cli.failure import INTERRUPTED, fail
from service.cli.words import counted, size_in_words

if TYPE_CHECKING:
    from service.bootstrap import StoreContents

NOT_IN_A_BACKUP = "not in it: the file of API keys, turnkeeper.toml, the agents file, keys that sign"


def in_words(contents: StoreContents, size_bytes: int) -> str:
    """Say what a copy holds."""
    heads = "logs not verified" if contents.heads_sha256 is None else f"heads sha256:{contents.heads_sha256}"
    what = f"{counted(contents.sessions, 'session')} and {counted(contents.readings, 'reading')}"
    return f"{what} up to pos {contents.last_pos}, {size_in_words(size_bytes)}, {heads}"


@contextmanager
def told_when_it_fails(kept: str) -> Generator[None]:
    """End the command with one line where the body fails; `kept` says what is as before when it is interrupted.

    Raises:
        typer.Exit: the body failed.
    """
    # Imported here, so that --help and --version don't load all of it.
    from service.core.errors import StoreFailure, StoreLocked

    try:
        with _ended_by_sigterm_too():
            yield
    except StoreLocked as refusal:
        fail(f"{refusal}; stop the service first")
    except StoreFailure as failure:
        fail(str(failure))
    except KeyboardInterrupt:
        fail(f"interrupted; {kept}", exit_code=INTERRUPTED)


@contextmanager
def _ended_by_sigterm_too() -> Generator[None]:
    """Have SIGTERM end the body as Ctrl-C does: by itself it would leave half of a copy behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
