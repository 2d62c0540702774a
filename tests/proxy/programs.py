"""Programs that a machine has or hasn't: their tests are skipped without them, but not where they must have run."""

from __future__ import annotations

import os
import shutil

import pytest

# Set where the tests must not pass without having tried.
NEEDED = os.environ.get("TURNKEEPER_TEST_NEEDS_PROGRAMS") == "1"
# Debian has programs of root's in places where others don't look.
_PLACES = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin"])


def program(name: str, package: str) -> str:
    """Give the path of a program; without it the test is skipped, or fails where it is needed."""
    found = shutil.which(name, path=_PLACES)
    if found is None:
        (pytest.fail if NEEDED else pytest.skip)(f"no {name}: install Debian's package {package}")
    return found
