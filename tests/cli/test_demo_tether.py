import os
import signal
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.rules("D2"),
    pytest.mark.skipif(os.name != "posix", reason="a process sees the end of its parent by its own new parent"),
]

# Starts the tethered program, lets it inherit standard output, and waits for ever.
MIDDLE = """
import subprocess, sys, threading
subprocess.Popen([sys.executable, "-m", "service.cli.demo.tether", "tests.cli.told_to_wait", "an argument"])
threading.Event().wait()
"""


def test_a_tethered_program_ends_when_its_parent_is_killed() -> None:
    middle = subprocess.Popen([sys.executable, "-c", MIDDLE], stdout=subprocess.PIPE, text=True)
    with middle:
        assert middle.stdout is not None
        assert middle.stdout.readline() == "waiting with ['an argument']\n"

        middle.send_signal(signal.SIGKILL)

        # The program holds the other end of the pipe: this ends with it.
        assert middle.stdout.read() == "ended by SIGTERM\n"
