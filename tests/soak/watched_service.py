"""The service, which on SIGUSR1 says what tasks there are in its loop."""

from __future__ import annotations

import asyncio
import json
import signal
import sys

from service.cli import main as run

MARK = "tasks: "


def main() -> None:
    """Run the command line with a handler for the signal."""
    signal.signal(signal.SIGUSR1, _say_tasks)
    run()


def _say_tasks(_number: int, _frame: object) -> None:
    names = sorted(task.get_name() for task in asyncio.all_tasks())
    sys.stderr.write(f"{MARK}{json.dumps(names)}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
