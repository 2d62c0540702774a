"""What the records of a session mean."""

from __future__ import annotations

from service.core.records import (
    ApprovalDecided,
    ApprovalRequested,
    Assistant,
    Attempt,
    CacheLoss,
    HandoffReturned,
    HandoffStarted,
    Resumed,
    SessionCreated,
    StepUsage,
    Summary,
    ToolCallStarted,
    ToolResult,
    TurnFinished,
    TurnQueued,
    User,
)
from service.web.schemas.events.said import Words

RECORD_WORDS: dict[type, Words] = {
    SessionCreated: Words(
        says="The session was made: the first record of its log, with all that never changes afterwards.",
        fields={
            "agent": "The agent profile that the session was made from; null without one.",
            "baseline": "What is fixed for the session's whole life.",
            "parent": "The call of another session that this one answers; left out where there is none.",
            "fork": "The session that this one was forked from; left out where there is none.",
            "class": "How secret the texts are that the parent held; left out while `public`.",
            "untrusted": "Whether the parent held text from outside; left out while false.",
            "depth": "How many handoffs are above it; left out while 0.",
        },
    ),
    TurnQueued: Words(
        says="A message was taken in while another turn of the session was open; its own turn begins with `user`.",
        fields={"content": "The message."},
    ),
    User: Words(says="The turn began with this message of the user.", fields={"content": "The message."}),
    Assistant: Words(
        says="The model has ended a step: this is all that it said, and the calls that it asks for.",
        fields={
            "content": "The text of this step; empty where it has calls only.",
            "tool_calls": "The calls of the step's batch, in their order.",
            "cut_calls": "Calls that were cut off or came unasked; they never run. Left out where there are none.",
            "finish_reason": (
                "Why the model stopped, in the server's word: `stop`, `tool_calls`, `length`, …; `cancelled` and "
                "`error` are ours, of text that was broken off."
            ),
        },
    ),
    StepUsage: Words(
        says="What one completion cost; it comes behind the `assistant` that it belongs to.",
        fields={
            "thinking_capped": "Whether the thought was ended by its cap.",
            "timings": "The server's own measurements.",
            "discarded": "True where the text was thrown away and asked for again; left out otherwise.",
            "estimated": "True where the server told no counts; left out otherwise.",
            "summary": "True where it was spent on a summary that was of no use; left out otherwise.",
        },
    ),
    CacheLoss: Words(
        says="The server had to evaluate tokens again that it had evaluated before.",
        fields={
            "expected_tokens": "Tokens that should have been in the server's cache.",
            "lost_tokens": "The difference.",
        },
    ),
    Attempt: Words(
        says="A step failed and is tried again.",
        fields={"kind": "What failed."},
    ),
    ToolCallStarted: Words(
        says="A call is about to be sent to the tool port.",
        fields={"arguments": "The arguments that are sent: a JSON object as text."},
    ),
    ToolResult: Words(
        says="A call has ended, or will never run: exactly one for each call.",
        fields={
            "status": "How it ended.",
            "content": "What the model is told.",
            "fence": "What encloses an untrusted text in the prompt; left out of others.",
            "truncated": "Whether a part is left out in the middle; `GET …/records/{seq}/full` has it all.",
            "original_bytes": "The size of the whole text, in bytes of UTF-8.",
            "cap": "The most that was allowed, in bytes of UTF-8; 0 where nothing was bounded.",
            "limit": "The limit that kept it from running; left out otherwise.",
        },
    ),
    ApprovalRequested: Words(
        says="The turn waits for a person to decide on these calls; a stream that a POST answered with ends here.",
        fields={"calls": "The calls that wait."},
    ),
    ApprovalDecided: Words(
        says="A person, or the end of the time for it, has decided on a call.",
        fields={
            "approved": "Whether it may run.",
            "arguments": "The arguments that it runs with in place of the model's; left out where they are the same.",
            "by": "The name of the key that decided.",
            "reason": "What the person said of it; left out where nothing was.",
            "signature": "The approver's signature; left out where none is asked for.",
        },
    ),
    HandoffStarted: Words(
        says="Another agent takes over, in a session of its own; its events come in the stream of this session too.",
        fields={"agent": "The agent that takes over."},
    ),
    HandoffReturned: Words(
        says="The other agent's turn has ended; the call's `tool_result` comes with it.",
        fields={
            "outcome": "How that turn ended; null where its session was deleted.",
            "content": "What it answered; null without an answer.",
            "waited_s": "How long it waited for people, in seconds.",
        },
    ),
    Summary: Words(
        says="From here on the prompt shows this text in place of the oldest part of the session; the log keeps all.",
        fields={
            "covers": "The `seq` of the last record that it stands for; 0 where only results were shortened.",
            "text": "The summary.",
            "shortened": "The calls whose results are shown as their heads and tails only.",
            "tokens_before": "Tokens of the prompt before.",
            "tokens_after": "Tokens of the prompt afterwards.",
            "fence": "What encloses it in the prompt when it is untrusted; left out otherwise.",
        },
    ),
    Resumed: Words(
        says="The service was started again and goes on with this turn.",
        fields={"attempt": "How many times that has happened without anything in between."},
    ),
    TurnFinished: Words(
        says="The turn has ended: the last record of each turn, exactly one; the turn's stream ends behind it.",
        fields={
            "limit": "The limit that ended or shortened it; left out where none did.",
            "truncated": "Whether the answer was cut off.",
            "error": "Why it failed; left out where it did not.",
            "content": "The answer; null where there is none.",
            "steps": "How many steps it had.",
            "totals": "What the session has come to.",
        },
    ),
}
