"""How many files the process may have open: connections take one each, and what they ask for takes some too."""

from __future__ import annotations

import contextlib
import sys

KEPT_FREE = 256
"""Files for the store, for llama-server and the tool port, and for documents that are read."""


def connections_that_fit(asked: int) -> int:
    """Raise the bound of open files as far as may be, and give how many connections there can be, up to `asked`.

    At least one can; where there is no such bound, as on Windows, all.
    """
    if sys.platform == "win32":
        return asked
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS calls its hard bound infinite and refuses that, so there what is needed is tried as well.
    for wanted in (hard, asked + KEPT_FREE):
        if _is_more(wanted, soft):
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                soft = wanted
                break
    return asked if soft == resource.RLIM_INFINITY else max(1, min(asked, soft - KEPT_FREE))


def _is_more(one: int, other: int) -> bool:
    import resource

    return other != resource.RLIM_INFINITY and (one == resource.RLIM_INFINITY or one > other)
