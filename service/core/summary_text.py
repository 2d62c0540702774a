"""How a summary stands in the prompt, and what of the conversation it keeps word by word (C1, P6).

Above: `projection`, which shows it, and `summarising`, which has it written. Below: texts only.
"""

from __future__ import annotations

from service.core.text_boundary import boundary_before

QUOTED_CHARACTERS = 400
"""How much of the session's first message every summary repeats: a weak model's summary may forget the task."""

_HEADING = "Summary of the conversation so far:"
_GOES_ON = "The conversation goes on with this message:"
_BEGAN = "The conversation began with:"


def fenced(text: str, fence: str | None) -> str:
    """Give a text between its fences, on lines of their own; as it is when it has none (P6)."""
    return text if fence is None else f"<untrusted {fence}>\n{text}\n</untrusted {fence}>"


def with_summary(text: str, fence: str | None, question: str | None) -> str:
    """Give the user's message that holds a summary and, below it, the first kept turn's message word by word.

    `question` is None as long as no message has come since the summary.
    """
    if not text:
        return question or ""
    summary = f"{_HEADING}\n{fenced(text, fence)}"
    return summary if question is None else f"{summary}\n\n{_GOES_ON}\n\n{question}"


def stored_text(first_question: str, summary: str, *, context_tokens: int) -> str:
    """Give what is kept as a summary's text: the session's beginning word by word, then what the model wrote."""
    # In a small context the quote must not take the room that it is to make.
    most = min(QUOTED_CHARACTERS, context_tokens // 5)
    quote = first_question[: boundary_before(first_question, most)]
    more = "…" if len(quote) < len(first_question) else ""
    return f"{_BEGAN} {quote}{more}\n\n{summary.strip()}"
