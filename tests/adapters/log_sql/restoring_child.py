"""Restores again and again, and each time is killed, or refused, one file operation later.

Arguments: a folder with `backup.db` and `old/` (the files of a store), a folder to make stores in, `kill` or `fail`.
Before an operation that names a file of the store's folder the process ends, or the operation fails as on a broken
disk. Prints a line for each store that it made: `cut`; `borne`, if the operation that failed did not matter; `whole`,
if there was none left to fail, which is the end.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from pathlib import Path

from service.adapters.log_sql.restore import restore
from service.core.errors import StoreFailure
from tests.adapters.log_sql.copied_stores import NOW

_OPERATIONS = frozenset({"open", "os.rename", "os.remove", "os.listdir", "os.scandir", "sqlite3.connect"})
REFUSED, BORNE = 3, 4
WORDS = {0: "whole", REFUSED: "cut", BORNE: "borne", -signal.SIGKILL: "cut"}


class Cut:
    """Cuts the process off before one of its file operations."""

    def __init__(self, folder: Path, left: int, *, kill: bool) -> None:
        self._folder = str(folder)
        self._left = left
        self._kill = kill
        self.failed = False

    def before(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in _OPERATIONS or self.failed or not any(self._folder in str(each) for each in arguments):
            return
        self._left -= 1
        if self._left >= 0:
            return
        if self._kill:
            os.kill(os.getpid(), signal.SIGKILL)
        self.failed = True
        raise OSError(errno.EIO, "Input/output error")


def restore_in(folder: Path, backup: Path, cut: Cut) -> int:
    """Restore in a process of its own, since what watches its operations stays; give how it ended."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            sys.addaudithook(cut.before)
            restore(backup, f"sqlite:///{folder / 'store.db'}", NOW, replace=True)
            code = BORNE if cut.failed else 0
        except StoreFailure as failure:
            code = REFUSED if "\n" not in str(failure) else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    given, made, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    for number in range(1000):
        folder = made / f"{number:03}"
        shutil.copytree(given / "old", folder)
        code = restore_in(folder, given / "backup.db", Cut(folder, number, kill=how == "kill"))
        if code not in WORDS:
            raise SystemExit(f"ended with {code} before operation {number}")
        sys.stdout.write(f"{folder.name} {WORDS[code]}\n")
        if code == 0:
            return


if __name__ == "__main__":
    main()
