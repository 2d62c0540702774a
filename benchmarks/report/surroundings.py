"""The machine and the versions that figures belong to.

Above: the command line. Below: the packages of this environment, nginx, the peers.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.overhead.subjects import nginx_program
from benchmarks.peers import Peer, known_peers
from benchmarks.results import Machine
from service import __version__

_PACKAGES = (
    "fastapi",
    "httptools",
    "httpx",
    "httpx-aiohttp",
    "sqlalchemy",
    "sse-starlette",
    "starlette",
    "uvicorn",
    "uvloop",
    "xllamacpp",
)
_GIB = 1 << 30


def machine() -> Machine:
    """Describe this machine."""
    return Machine(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB, 1),
        system=_system(),
        python=platform.python_version(),
    )


def versions() -> dict[str, str]:
    """Name the versions of what is measured and of what it stands on, as far as it is here."""
    found = {"turnkeeper": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    program = nginx_program()
    if program is not None:
        # It says so on standard error.
        said = subprocess.run([program, "-v"], check=False, capture_output=True, text=True).stderr
        found["nginx"] = said.rpartition("/")[2].strip()
    return found | {peer.name: _pinned(peer) for peer in known_peers() if peer.is_installed}


def _processor() -> str:
    with suppress(OSError):
        named = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        if named:
            return named[1].strip()
    return platform.processor() or platform.machine()


def _system() -> str:
    kernel = f"{platform.system()} {platform.release()}"
    with suppress(OSError):
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    return kernel


def _pinned(peer: Peer) -> str:
    line = re.compile(rf"^{re.escape(peer.name)}(?:-slim)?(?:\[[^]]*\])?==([\w.]+)", re.MULTILINE | re.IGNORECASE)
    found = line.search(peer.requirements.read_text(encoding="utf-8"))
    return found[1] if found else "unknown"
