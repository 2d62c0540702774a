"""What the rivals ask the model. Instructions and question stand first, so that they stay in the cache."""

from __future__ import annotations

from enum import StrEnum

from benchmarks.reading.judging import NOT_FOUND

NO_MEMORY = "(nothing yet)"

_ANSWER_SHORT = f'Answer in a few words. If it does not say, answer only "{NOT_FOUND}".'


class Part(StrEnum):
    """What a text is of the whole.

    It stands at the beginning of the prompt: else one rival would find what another asked in the cache.
    """

    WHOLE = "a whole text"
    SECTION = "one section of a text"
    PASSAGES = "passages of a text"


def answer_from_text(query: str, text: str, part: Part) -> str:
    """Ask for the answer from a text. The question comes again at the end, which helps small models."""
    return (
        f"Below: {part}. Answer the question from it alone. {_ANSWER_SHORT}\n\n"
        f"Question: {query}\n\nText:\n{text}\n\nQuestion: {query}"
    )


def update_memory(query: str, memory: str, section: str) -> str:
    """Ask for a new memory after one more section, whatever stands in it."""
    return (
        "You read a long text section by section to answer a question. Below are the question, your memory of the "
        "sections before, and the next section. Write the new memory: keep all of the old memory that helps to "
        "answer, and add what this section says to it. Write the memory only.\n\n"
        f"Question: {query}\n\nMemory:\n{memory or NO_MEMORY}\n\nSection:\n{section}\n\n"
        f"Now write the new memory for the question: {query}"
    )


def answer_from_memory(query: str, memory: str) -> str:
    """Ask for the answer from the last memory."""
    return (
        f"Answer the question from your memory of a long text below. {_ANSWER_SHORT}\n\n"
        f"Question: {query}\n\nMemory:\n{memory or NO_MEMORY}"
    )


def merge_answers(query: str, answers: list[str]) -> str:
    """Ask for one answer out of those to single sections."""
    listed = "\n".join(f"- {answer}" for answer in answers)
    return (
        "Sections of a long text were each asked the question below. Their answers follow in the order of the text. "
        f"Give the one answer to the question. {_ANSWER_SHORT}\n\nQuestion: {query}\n\nAnswers:\n{listed}"
    )
