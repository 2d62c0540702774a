"""Names of spans and attributes: those of OpenTelemetry's conventions for generative AI, and a few of our own.

Copied from version 1.41.0 of the semantic conventions, the last one that held those for generative AI, which are in
development. The library has them in a module that may change with any release, and moved them out with the next.
"""

from __future__ import annotations

from typing import Final

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.41.0"

CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"
INVOKE_AGENT: Final = "invoke_agent"
INVOKE_WORKFLOW: Final = "invoke_workflow"

AGENT_NAME: Final = "gen_ai.agent.name"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
FREQUENCY_PENALTY: Final = "gen_ai.request.frequency_penalty"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
MAX_TOKENS: Final = "gen_ai.request.max_tokens"
OPERATION: Final = "gen_ai.operation.name"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
OUTPUT_TYPE: Final = "gen_ai.output.type"
PRESENCE_PENALTY: Final = "gen_ai.request.presence_penalty"
PROVIDER: Final = "gen_ai.provider.name"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
REQUEST_MODEL: Final = "gen_ai.request.model"
SEED: Final = "gen_ai.request.seed"
STREAM: Final = "gen_ai.request.stream"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TEMPERATURE: Final = "gen_ai.request.temperature"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOP_K: Final = "gen_ai.request.top_k"
TOP_P: Final = "gen_ai.request.top_p"
WORKFLOW_NAME: Final = "gen_ai.workflow.name"

ERROR_TYPE: Final = "error.type"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"

LLAMA_CPP: Final = "llama.cpp"
"""The provider; the conventions list none for it."""

READING: Final = "reading"
"""The workflow of a reading."""

AWAIT_APPROVAL: Final = "await_approval"
"""A span of our own: a turn waits for people."""

ATTEMPT: Final = "turnkeeper.attempt"
CALL: Final = "turnkeeper.call"
CHUNKS_SEEN: Final = "turnkeeper.reading.chunks_seen"
ESTIMATED: Final = "turnkeeper.usage_estimated"
GATE_WAIT_S: Final = "turnkeeper.gate_wait_s"
LEFT_OUT: Final = "turnkeeper.messages_left_out"
LIMIT: Final = "turnkeeper.limit"
OUTCOME: Final = "turnkeeper.outcome"
PAUSED_S: Final = "turnkeeper.paused_s"
READING_ID: Final = "turnkeeper.reading.id"
RESUMED: Final = "turnkeeper.resumed"
STATUS: Final = "turnkeeper.tool.status"
STEP: Final = "turnkeeper.step"
STEPS: Final = "turnkeeper.steps"
TURN_ID: Final = "turnkeeper.turn.id"
WORK: Final = "turnkeeper.work"

PLACES: Final = {
    "step": STEP,
    "attempt": ATTEMPT,
    "level": "turnkeeper.reading.level",
    "document": "turnkeeper.reading.document",
    "chunk": "turnkeeper.reading.chunk",
}
"""By the names of `ChatAsked.place`."""

SAMPLING: Final = {
    "temperature": TEMPERATURE,
    "top_p": TOP_P,
    "top_k": TOP_K,
    "seed": SEED,
    "frequency_penalty": FREQUENCY_PENALTY,
    "presence_penalty": PRESENCE_PENALTY,
}
"""By the names of llama-server's request; what else it knows the conventions don't."""

INTERRUPTED: Final = "interrupted"
"""The outcome of work that this process let go of: it was cancelled, or goes on with the next start."""
