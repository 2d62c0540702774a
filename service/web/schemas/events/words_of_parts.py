"""What the parts of events mean."""

from __future__ import annotations

from service.core.baseline import Baseline, Limits, TemplateProfile, ToolSelection
from service.core.reading.options import ReadingOptions
from service.core.reading.records import ReadDocument
from service.core.records import (
    ChildLink,
    CutCall,
    DecisionSignature,
    ForkLink,
    ParentLink,
    PendingCall,
    SessionTotals,
    ToolCall,
    TurnError,
    TurnOptions,
)
from service.core.usage import Timings, UsageTotals
from service.web.schemas.events.said import Words

PARTS: dict[type, Words] = {
    ToolCall: Words(
        says="A call that the model asks for.",
        fields={"model_call_id": "The id that the model sent; null where it sent none."},
    ),
    CutCall: Words(says="A call that never runs.", fields={"arguments": "What came of the arguments."}),
    PendingCall: Words(
        says="A call that waits for a decision.",
        fields={
            "session": "The session whose call it is: send the decision there.",
            "turn": "The turn whose call it is: send the decision there.",
            "name": "The tool that would run.",
            "title": "What the tool does, in words for a person.",
            "reason": "Why it is asked.",
            "asked_at": "Since when it waits.",
            "expires_at": "When it is denied if nobody decides; null where it waits for ever.",
        },
    ),
    DecisionSignature: Words(
        says="Who signed a decision.",
        fields={"key": "The name of the approver's key.", "value": "The Ed25519 signature in base64url."},
    ),
    ChildLink: Words(says="The session and the turn of another agent."),
    ParentLink: Words(says="The call of another session that this session answers."),
    ForkLink: Words(
        says="Where a fork begins.",
        fields={
            "seq": "The last record that both have in common.",
            "hash": "The hash over all records up to that one, in hex.",
        },
    ),
    TurnError: Words(
        says="Why a turn or a reading failed.",
        fields={
            "kind": "What failed.",
            "message": "What failed, in words.",
            "status": "The status that the other server answered with; left out where there is none.",
        },
    ),
    TurnOptions: Words(
        says="What a turn was asked to do.",
        fields={
            "tool_choice": "Whether the model may, must or must not call tools.",
            "on_tool_limit": "What follows the last allowed batch of calls.",
            "limits": "The bounds of the turn.",
            "response_format": "The form that the answer must have; left out where it is free.",
        },
    ),
    SessionTotals: Words(
        says="What a session has come to at the end of a turn.",
        fields={
            "next_call": "The number of the next call.",
            "class": "The most secret class of text that it holds.",
            "untrusted_seen": "Whether it holds text from outside.",
        },
    ),
    UsageTotals: Words(
        says="Sums over completions.",
        fields={"completions": "Completions that were asked for.", "tool_calls": "Calls that the model asked for."},
    ),
    Timings: Words(
        says="llama-server's own measurements of one completion.",
        fields={
            "prompt_ms": "How long the prompt took, in milliseconds.",
            "predicted_ms": "How long the text took, in milliseconds.",
            "prompt_per_second": "Tokens of the prompt in a second.",
            "predicted_per_second": "Tokens of the text in a second.",
        },
    ),
    Baseline: Words(
        says="What is fixed for a session's whole life.",
        fields={
            "system": "The system prompt, with what the service adds to it.",
            "tools": "Its tools.",
            "sampling": "How the model draws its tokens, under llama-server's names.",
            "limits": "The bounds of its turns.",
            "thinking": "Whether the model thinks before it answers.",
            "compaction": "Whether its oldest part may be summarised.",
            "template": "What the model's chat template can do; null where the server was not there.",
        },
    ),
    ToolSelection: Words(
        says="The tools of a session.",
        fields={
            "mode": "Whether all of them stand in the prompt, or are searched for.",
            "hash": "The hash of their list, in hex; null without tools.",
            "names": "Those of the tool port.",
            "tokens": "Tokens of the prompt that they take.",
        },
    ),
    Limits: Words(
        says="The bounds of a turn; docs/limits.md tells of each.",
        fields={
            "tool_iterations": "Batches of calls.",
            "repeat_detection": "Whether a call that was made already is not made again.",
            "denied_repeats": "Steps that may ask again for what a person has denied.",
            "thinking_tokens": "Tokens of thought.",
            "tool_result_cap": "Bytes of a result that the model is shown.",
            "turn_time_s": "Seconds; 0 is no bound.",
            "max_tokens": "Tokens of a completion.",
        },
    ),
    TemplateProfile: Words(
        says="What the model's chat template can do, as found by trying.",
        fields={
            "hash": "The hash of the template, in hex.",
            "tools": "Whether it shows tools to the model.",
            "parallel": "Whether a step may have more than one call.",
            "call_id": "Which ids of calls it takes: `any`, or nine letters or digits.",
            "system_role": "Whether it knows a system prompt.",
            "alternates": "Whether it wants users and assistants to take turns.",
            "object_arguments": "Whether it wants arguments to be an object.",
            "thinking_off": "Where the prompt changes when thinking is switched off.",
            "keeps_turns": "Whether finished turns stay as they were in the prompt.",
            "keeps_steps": "Whether finished steps stay as they were in the prompt.",
        },
    ),
    ReadDocument: Words(
        says="A document that is read.",
        fields={
            "name": "Its name.",
            "media_type": "What it is.",
            "bytes": "The size of its text, in bytes of UTF-8.",
        },
    ),
    ReadingOptions: Words(
        says="How a reading reads.",
        fields={
            "level": "2 where several documents are read, 1 otherwise.",
            "exit": "When it may stop before the last chunk.",
            "memory_budget": "Tokens that the memory may have.",
            "chunk_tokens": "Tokens of a chunk; null is as many as fit.",
            "parallel": "Documents that are read at the same time; null is as many as there are slots for.",
        },
    ),
}
