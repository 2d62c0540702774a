"""The Python that stands for the one of the base image. Above: `build_by_hand.py`. Standard library only."""

from __future__ import annotations

import shutil
import stat
import sys
from pathlib import Path


def base_python(root: Path) -> Path:
    """Give the Python that runs this, outside any virtual environment; below `root` where others can't reach it.

    A Python in somebody's own folder can't be run by the user that the service is tried as, so it is copied.
    """
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if all(_is_open(folder) for folder in python.parents):
        return python
    prefix, copied = Path(sys.base_prefix).resolve(), root / "usr/local"
    library = Path("lib") / f"python{sys.version_info.major}.{sys.version_info.minor}"
    left_out = shutil.ignore_patterns("site-packages", "test", "tests", "idlelib", "__pycache__", "config-*")
    shutil.copytree(prefix / library, copied / library, ignore=left_out)
    for shared in (prefix / "lib").glob("libpython*.so*"):
        shutil.copy2(shared, copied / "lib" / shared.name)
    (copied / "bin").mkdir()
    return Path(shutil.copy2(python, copied / "bin" / python.name))


def _is_open(folder: Path) -> bool:
    return bool(stat.S_IMODE(folder.stat().st_mode) & stat.S_IXOTH)
