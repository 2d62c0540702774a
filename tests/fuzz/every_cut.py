"""Each recording cut in two at each of its bytes, and read byte by byte: the same end and the same text always."""

from __future__ import annotations

from collections.abc import Iterator

from tests.core.completion_outcome import read_stream
from tests.recordings.exchanges import names, recorded

_BYTES_OF_A_TASK = 20_000_000

Task = tuple[str, int, int]
"""A recording, and the places from the first up to the second at which it is cut."""


def tasks() -> Iterator[Task]:
    """Give what there is to do, in parts of about the same work; the longest recording comes first."""
    lengths = {name: len(exchange.body) for name in names() if (exchange := recorded(name)).streams}
    for name, length in sorted(lengths.items(), key=lambda item: -item[1]):
        step = max(1, _BYTES_OF_A_TASK // max(1, length))
        for start in range(0, length + 1, step):
            yield name, start, min(start + step, length + 1)


def differences(task: Task) -> list[str]:
    """Do one task, and tell at which places a cut changes what comes out."""
    name, start, end = task
    stream = recorded(name).body
    whole = read_stream([stream])
    found = [f"{name} cut at {n}" for n in range(start, end) if read_stream([stream[:n], stream[n:]]) != whole]
    if start == 0 and read_stream([stream[n : n + 1] for n in range(len(stream))]) != whole:
        found.append(f"{name} byte by byte")
    return found
