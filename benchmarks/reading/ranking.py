"""Ranks passages by the words that they share with a question: BM25 of the library `bm25s`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.reading.failures import BenchmarkFailed

BM25_PACKAGE = "bm25s"

Ranking = Callable[[str, Sequence[str], int], list[int]]
"""Of a question, passages and a count: the numbers of the best passages, best first."""


def bm25_ranking(package: str = BM25_PACKAGE) -> Ranking:
    """Return BM25 as the installed library computes it, without stemming.

    Raises:
        BenchmarkFailed: the library is not installed.
    """
    try:
        # Has no type information.
        library: Any = importlib.import_module(package)
    except ImportError as error:
        raise BenchmarkFailed(
            f"the package {package}, which ranks the passages, is not installed: pip install {package}"
        ) from error

    def best(query: str, passages: Sequence[str], count: int) -> list[int]:
        index: Any = library.BM25()
        index.index(library.tokenize(list(passages), show_progress=False), show_progress=False)
        asked: Any = library.tokenize([query], show_progress=False)
        most = min(count, len(passages))
        documents, _ = index.retrieve(asked, k=most, show_progress=False)
        return [int(number) for number in documents[0]]

    return best
