"""What a child takes from itself before it looks at foreign bytes: memory, time, files, the network.

Where the platform has no such limits (Windows), the parent's bound on time stays.
"""

from __future__ import annotations

import contextlib
import signal
import sys


def confine(*, memory_bytes: int, time_s: float) -> None:
    """Bound this process's address space and its life, and let it write no file and leave no core dump.

    The alarm ends it also when its parent is no longer there to do so.
    """
    if sys.platform == "win32":
        return
    import resource

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, time_s)
    for limit, most in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
        # macOS refuses bounds on the address space.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))


def no_more_files() -> None:
    """Let this process open no further file or socket, for the time in which native code parses foreign bytes."""
    if sys.platform == "win32":
        return
    import resource

    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
