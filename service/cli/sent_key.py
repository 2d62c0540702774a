"""The API key that a command sends to the service: from the environment or a file, and never from the command line."""

from __future__ import annotations

import os
from pathlib import Path

from service.cli.failure import WRONG_USE, fail
from service.core.api_keys import LONGEST_PRESENTED, SENT_KEY_VARIABLE


def sent_key(file: Path | None) -> str | None:
    """Give the key in this file, or else in the environment; None where there is none.

    Raises:
        typer.Exit: what is there is no key; one line says so, and nothing of it.
    """
    if file is None:
        place, text = SENT_KEY_VARIABLE, os.environ.get(SENT_KEY_VARIABLE, "").strip()
        if not text:
            return None
    else:
        place, text = str(file), _content_of(file).strip()
    # A line end would end the header and begin another; a file with more than a key is most likely the wrong one.
    if not 0 < len(text) <= LONGEST_PRESENTED or not all("!" <= character <= "~" for character in text):
        fail(
            f"{place} holds no API key: that is one word of at most {LONGEST_PRESENTED} characters", exit_code=WRONG_USE
        )
    return text


def _content_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(4 * LONGEST_PRESENTED).decode("latin-1")
    except OSError as error:
        fail(f"{file} can't be read: {error.strerror}", exit_code=WRONG_USE)
