"""The node that runs the dashboard's modules outside of a browser."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import pytest
from playwright._impl._driver import compute_driver_executable

# Node's own runner and `findLastIndex`.
OLDEST = 20

NO_NODE = (
    f"There is no node {OLDEST} or later, neither on the path nor in the package playwright. Install one, or run "
    "`make setup` again, which installs the package."
)


@cache
def node_program() -> str:
    """Give the node of this machine, else the one that comes with the browser tests' package; else the test fails."""
    packaged, _ = compute_driver_executable()
    for found in (shutil.which("node"), str(packaged)):
        if found is not None and _major_of(found) >= OLDEST:
            return found
    pytest.fail(NO_NODE)


def _major_of(node: str) -> int:
    """Give the number of a node's release; 0 when it does not run."""
    try:
        told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    return int(told.strip().removeprefix("v").split(".")[0])
