"""Run a module as `python -m` does, and end it when the process that started it is gone.

A supervisor that is killed can't end its children; this way they see it themselves.
"""

import os
import runpy
import signal
import sys
import threading

LOOK_EVERY_S = 0.5
# What a process gets after SIGTERM before it is ended whatever it does.
END_WITHIN_S = 15.0


def main() -> None:
    """Run the module named by the first argument with the arguments behind it."""
    end_with_parent()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def end_with_parent() -> None:
    """Watch the parent from a thread; when it has gone, end this process with SIGTERM, later by force."""
    threading.Thread(target=_watch, args=(os.getppid(),), name="parent watch", daemon=True).start()


def _watch(parent: int) -> None:
    never = threading.Event()
    while os.getppid() == parent:
        never.wait(LOOK_EVERY_S)
    os.kill(os.getpid(), signal.SIGTERM)
    never.wait(END_WITHIN_S)
    os._exit(1)


if __name__ == "__main__":
    main()
