"""A disk that fills up: a small one of its own, and a bound on the size of files where none can be mounted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

BLOCK = 4096


class SmallDisk:
    """A disk of a megabyte in memory, which can be filled up to some bytes and emptied again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self, *, leave_bytes: int = 0) -> None:
        free = shutil.disk_usage(self.folder).free - leave_bytes
        self._ballast.write_bytes(bytes(max(0, free) // BLOCK * BLOCK))

    def empty(self) -> None:
        self._ballast.unlink()


@contextmanager
def small_disk(folder: Path) -> Generator[SmallDisk]:
    """Mount one for the block; skip the test where that isn't allowed."""
    folder.mkdir()
    program = shutil.which("mount") if sys.platform == "linux" else None
    if program is None:
        pytest.skip("no small disk can be mounted here: that takes Linux")
    mounted = subprocess.run(
        [program, "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def no_file_larger_than(size_bytes: int) -> Generator[None]:
    """Have the system refuse each write of this process behind so many bytes of a file."""
    resource = pytest.importorskip("resource", reason="this system bounds no file sizes")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
