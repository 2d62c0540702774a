"""What is said in the conversations: four people with short messages, and the system prompt that all share.

Above: the clients. Below: nothing.
"""

from __future__ import annotations

from itertools import cycle, islice

SHORT_SYSTEM = "You are a helpful assistant."
LONGER_SYSTEM = (
    "You are the assistant of a small library. Answer in one or two short sentences. Be friendly and exact. When you "
    "don't know something, say so and name the desk that does. Books are lent for four weeks; a reader may have ten "
    "of them at a time. The library is open from nine to six, on Saturdays from ten to two."
)

_ASKED_OF = (
    ("novels", "the harbour", "letters", "a lighthouse", "old maps", "sailing", "storms"),
    ("cook books", "bread", "soups", "spices", "a kitchen garden", "honey", "cheese"),
    ("science", "the moon", "stones", "bees", "rivers", "the weather", "light"),
    ("history", "castles", "railways", "markets", "bridges", "the post", "guilds"),
)
_FORMS = ("What do you have about {}?", "And is there something shorter on {}?", "Who wrote best about {}?")

CONVERSATIONS = len(_ASKED_OF)


def questions(conversation: int, turns: int) -> list[str]:
    """Give the messages of one conversation, counted from 0; they differ from turn to turn."""
    asked = zip(cycle(_ASKED_OF[conversation % CONVERSATIONS]), cycle(_FORMS), strict=False)
    return [form.format(thing) for thing, form in islice(asked, turns)]
