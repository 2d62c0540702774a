"""The form of what is said of an event."""

from __future__ import annotations

from dataclasses import dataclass, field

COMMON = {
    "step": "The step of the turn, counted from 1.",
    "call": "The call's number, counted from 1 over the whole session.",
    "tool_call_id": "The call's id as the prompt shows it.",
    "name": "The tool.",
    "arguments": "The arguments: the raw text that the model wrote.",
    "content": "The text.",
    "reasoning": "The thought before the text.",
    "class": "How secret the text is.",
    "untrusted": "Whether the text comes from outside and may carry instructions.",
    "fence": "What encloses an untrusted text in the prompt.",
    "truncated": "Whether the text was cut at its end.",
    "options": "What was asked for.",
    "agent": "The agent profile.",
    "child": "The session and the turn of the other agent.",
    "outcome": "How it ended.",
    "usage": "What it cost in tokens, summed up.",
    "error": "Why it failed.",
    "attempt": "Which try this is, counted from 1.",
    "cached_tokens": "Tokens of the prompt that were in the server's cache.",
    "prompt_tokens": "Tokens of the prompt.",
    "completion_tokens": "Tokens that the model wrote.",
    "reasoning_tokens": "Tokens of these that are thought.",
    "session": "The session.",
    "turn": "The turn.",
    "digest": "The hash of exactly this call, which a decision on it has to repeat.",
    "hash": "A hash, in hex.",
    "level": "1 reads the documents, 2 the memories of several documents.",
    "document": "Which document, counted from 1.",
    "chunk": "Which chunk, counted from 1.",
    "sha256": "The SHA-256 of the text in UTF-8, in hex.",
    "v": "The version of the form of these records.",
    "model": "The model's name; null where the server has one only.",
    "waited_ms": "How long it has been so, in milliseconds.",
    "delay_ms": "How long it is waited before, in milliseconds.",
    "offset": "How many code points of this text came before.",
    "text": "The text.",
    "reason": "Why.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A sentence on a thing, and on its fields where the common one doesn't do."""

    says: str
    fields: dict[str, str] = field(default_factory=dict[str, str])

    def of_field(self, name: str) -> str:
        """Give the sentence on a field.

        Raises:
            KeyError: there is none.
        """
        return self.fields[name] if name in self.fields else COMMON[name]
