"""What a process and all that it started have used, as Linux tells it.

Above: the modes. Below: nothing.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_NS_PER_S = 1e9
_KIB = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


def cpu_s(pid: int) -> float:
    """Give the CPU seconds of a process and its descendants that still run."""
    return sum(_own_cpu_s(process) for process in _with_descendants(pid))


def memory_kib(pid: int) -> int:
    """Give the memory in KiB of a process and its descendants; what is shared counts in proportion."""
    return sum(_own_memory_kib(process) for process in _with_descendants(pid))


def _with_descendants(pid: int) -> list[int]:
    found: list[int] = []
    left = [pid]
    while left:
        process = left.pop()
        found.append(process)
        for thread in _threads(process):
            with suppress(OSError):
                left += [int(child) for child in (thread / "children").read_text(encoding="ascii").split()]
    return found


def _threads(pid: int) -> list[Path]:
    # A process may end while it is looked at; it then has used nothing.
    with suppress(OSError):
        return list((_PROC / str(pid) / "task").iterdir())
    return []


def _own_cpu_s(pid: int) -> float:
    nanoseconds = 0
    for thread in _threads(pid):
        with suppress(OSError):
            nanoseconds += int((thread / "schedstat").read_text(encoding="ascii").split()[0])
    # Some kernels don't keep the times of the scheduler, and tell zeros; ticks are then what there is.
    return nanoseconds / _NS_PER_S if nanoseconds else _ticks_s(pid)


def _ticks_s(pid: int) -> float:
    with suppress(OSError):
        # The name, which may hold anything, stands in the only parentheses.
        fields = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _own_memory_kib(pid: int) -> int:
    with suppress(OSError):
        found = _KIB.search((_PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii"))
        if found:
            return int(found[1])
    return 0
