"""As many connections as may be open at the same time, and no more than the system has files for (H2)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from service.cli.open_files import KEPT_FREE

pytestmark = [
    pytest.mark.rules("H2"),
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such bound"),
]

# In a process of its own, since the bounds can't be put back.
PROGRAM = """
import resource, sys
from service.cli.open_files import connections_that_fit
soft, hard, asked = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(connections_that_fit(asked), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "asked", "fit"),
    [(128, 1000, 2000, 1000 - KEPT_FREE), (128, 1000, 100, 100), (1000, 1000, 2000, 1000 - KEPT_FREE), (64, 64, 20, 1)],
    ids=["more than there are", "fewer", "raised already", "hardly any"],
)
def test_files_are_raised_as_far_as_may_be_and_connections_keep_some_free(
    soft: int, hard: int, asked: int, fit: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(soft), str(hard), str(asked)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )

    assert [int(number) for number in done.stdout.split()] == [fit, hard, hard]
