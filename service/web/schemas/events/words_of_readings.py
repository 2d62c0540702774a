"""What the records and the signals of a reading mean."""

from __future__ import annotations

from service.core.reading.records import (
    AnswerGiven,
    BudgetExceeded,
    Evidence,
    GateSet,
    MemoryWritten,
    ParseFailed,
    ReadingCreated,
    ReadingPlanned,
    ReadingUsage,
    RunEnd,
)
from service.core.reading.signals import AskedAgain, ChunkStarted, PartialReply, ReadingProgress, ReadingText
from service.web.schemas.events.said import Words

_OF_ANSWER = {
    "document": "Which document, counted from 1; null of the answer.",
    "chunk": "Which chunk, counted from 1; null of the answer.",
}

READING_WORDS: dict[type, Words] = {
    ReadingCreated: Words(
        says="The reading was asked for: the first record of its log.",
        fields={"query": "The question.", "documents": "What is read.", "options": "How it is read."},
    ),
    ReadingPlanned: Words(
        says="The documents were cut into chunks.",
        fields={
            "template": "The hash of the model's chat template.",
            "prompt": "The version of the instructions to the model.",
            "context_tokens": "Tokens that the server has room for.",
            "chunk_tokens": "Tokens of a chunk at most.",
            "answer_tokens": "Tokens that the model may write in a call.",
            "fence": "What encloses a chunk in the prompt.",
            "ends": "For each document the offsets behind its chunks, in bytes of UTF-8.",
        },
    ),
    GateSet: Words(
        says="What the model said of a chunk: whether it changes the memory, and whether enough has been read.",
        fields={
            "update": "Whether the memory changes.",
            "exit": "Whether the model would stop reading.",
            "update_probability": "How sure the model was of `update`; null where the server did not tell.",
            "exit_probability": "How sure the model was of `exit`; null where the server did not tell.",
            "exit_refused": "True where it would have stopped on an empty memory; left out otherwise.",
            "draft": "The answer so far; left out unless `exit` is `measured`.",
            "draft_probability": "How sure the model was of that; left out likewise.",
        },
    ),
    Evidence: Words(
        says="The text that changed the memory.",
        fields={
            "level": "0: a part of a document. 1: the memory of a document.",
            "start": "Where it begins, in bytes of UTF-8.",
            "end": "Where it ends, in bytes of UTF-8.",
        },
    ),
    MemoryWritten: Words(
        says="The memory has changed; this is all of it.",
        fields={
            "text": "The memory.",
            "tokens": "Its size in tokens.",
            "parents": "The hashes of its evidence and of the memory before, if there was one.",
        },
    ),
    BudgetExceeded: Words(
        says="The model wrote a memory that is too long; the memory stays as it was.",
        fields={
            "tokens": "Its size in tokens; null where it was cut before its end.",
            "budget": "Tokens that it may have.",
        },
    ),
    ParseFailed: Words(
        says="The model did not write what was asked for, in all its tries; the memory stays as it was.",
        fields={"attempts": "How many tries.", "reason": "What was wrong with the last one."},
    ),
    ReadingUsage: Words(
        says="What a chunk cost, or the answer; with it all records of that chunk are there.", fields=_OF_ANSWER
    ),
    AnswerGiven: Words(
        says="The answer to the question.",
        fields={
            "content": "The answer.",
            "memory": "The hash of the memory that it comes from.",
            "truncated": "True where it was cut at its end; left out otherwise.",
        },
    ),
    RunEnd: Words(
        says="The reading has ended: its last record, exactly one; its stream ends behind it.",
        fields={
            "error": "Why it failed; left out where it did not.",
            "chunks_seen": "Chunks that were read.",
            "chunks_used": "Chunks of these that changed the memory.",
            "calls": "Completions that were asked for.",
            "exits_refused": "How often the model would have stopped on an empty memory.",
            "final_memory_sha": "The hash of the last memory; null where it stayed empty.",
        },
    ),
    ChunkStarted: Words(says="A chunk is being read.", fields={"chunks": "How many chunks there are in this pass."}),
    ReadingText: Words(
        says="A piece of what the model writes on a chunk, or of the answer.",
        fields={**_OF_ANSWER, "text": "The piece."},
    ),
    PartialReply: Words(
        says="All that a reply has said before this connection: put it in place of what you have of it.",
        fields={**_OF_ANSWER, "content": "Its text so far."},
    ),
    AskedAgain: Words(
        says="A reply failed or was not what was asked for: it is asked for again, forget its text.",
        fields={**_OF_ANSWER, "reason": "What failed: a kind of error, or a sentence."},
    ),
    ReadingProgress: Words(
        says="How far it is, over all documents.",
        fields={
            "chunks_seen": "Chunks that were read.",
            "chunks": "Chunks that there are to read at most.",
            "tokens_per_second": "How fast it reads; null until there is a chunk to go by.",
            "left_s": "Seconds that are left, as it goes; null until there is a chunk to go by.",
        },
    ),
}
