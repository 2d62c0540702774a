"""A program that waits for SIGTERM, and says so."""

import signal
import sys


def main() -> None:
    sys.stdout.write(f"waiting with {sys.argv[1:]}\n")
    sys.stdout.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    sys.stdout.write(f"ended by {signal.Signals(signal.sigwait({signal.SIGTERM})).name}\n")


if __name__ == "__main__":
    main()
