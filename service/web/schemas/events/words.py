"""What each kind of event and each part of one means: a sentence on it, and one on each of its fields."""

from __future__ import annotations

from service.web.schemas.events.said import Words
from service.web.schemas.events.words_of_parts import PARTS
from service.web.schemas.events.words_of_readings import READING_WORDS
from service.web.schemas.events.words_of_records import RECORD_WORDS
from service.web.schemas.events.words_of_signals import SIGNAL_WORDS

ALL_WORDS: dict[type, Words] = {**PARTS, **RECORD_WORDS, **SIGNAL_WORDS, **READING_WORDS}


def words_of(shape: type) -> Words:
    """Give what is said of a class.

    Raises:
        KeyError: nothing is.
    """
    return ALL_WORDS[shape]
