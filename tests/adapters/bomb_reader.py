"""Reads all kinds of answers from a server that sends bombs, in a process of its own whose memory is measured.

`python -m tests.adapters.bomb_reader URL ENCODING…` prints what came of each, and by how much the process grew.
"""

from __future__ import annotations

import asyncio
import json
import sys

from tests.adapters.every_question import ask_everything


async def _all(url: str, encodings: list[str]) -> dict[str, str]:
    told: dict[str, str] = {}
    for encoding in encodings:
        for status in (200, 500):
            asked = await ask_everything(f"{url}/{encoding.replace(', ', '+')}/{status}")
            told |= {f"{encoding} {status} {name}": text[:200] for name, (text, _) in asked.items()}
    return told


def _peak_bytes() -> int:
    # Not there on Windows, where this is not run.
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    url, *encodings = sys.argv[1:]
    # What the first requests import and set up counts as the beginning.
    asyncio.run(_all(url, ["plain"]))
    before = _peak_bytes()
    told = asyncio.run(_all(url, encodings))
    sys.stdout.write(json.dumps({"told": told, "grown_bytes": _peak_bytes() - before}))


if __name__ == "__main__":
    main()
