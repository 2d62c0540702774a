"""All metrics of the service. `docs/metrics.md` is made from this, and the scrape shows nothing else of ours."""

from __future__ import annotations

from service import __version__
from service.adapters.prometheus.metric import Metric, counter, gauge, histogram
from service.core.errors import ErrorKind
from service.core.reading.records import ReadingOutcome
from service.core.records import CacheLossReason, Limit, Outcome, ResultStatus
from service.ports.meter import Decided, Work

NO_LIMIT = "none"
"""The value of `limit` where none was met."""

_TURN_S = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)
_FIRST_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_WAIT_S = (0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_CALL_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_PEOPLE_S = (5, 15, 60, 300, 900, 3600, 14_400, 86_400)
_READING_S = (5, 15, 60, 300, 900, 1800, 3600, 14_400)
_WRITE_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
_GROUP = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_FILL = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

TURNS = counter(
    "turnkeeper_turns_total",
    "turns",
    "Turns that ended, by how, and by the limit that ended or shortened them",
    "sum by (outcome) (rate(turnkeeper_turns_total[5m])) * 60",
    outcome=Outcome,
    limit=(NO_LIMIT, *Limit),
)
TURN_ERRORS = counter(
    "turnkeeper_turn_errors_total",
    "turns",
    "Turns that ended with an error, by its kind",
    "topk(3, sum by (kind) (increase(turnkeeper_turn_errors_total[1h])))",
    kind=ErrorKind,
)
TURN_DURATION = histogram(
    "turnkeeper_turn_duration_seconds",
    "seconds",
    "From a turn's message to its end, without the time in which people were waited for; turns that ended in a queue "
    "have none",
    "histogram_quantile(0.9, sum by (le) (rate(turnkeeper_turn_duration_seconds_bucket[5m])))",
    _TURN_S,
    outcome=Outcome,
)
FIRST_TOKEN = histogram(
    "turnkeeper_first_token_seconds",
    "seconds",
    "From a turn's message to its first text, thought or answer, without the time in which people were waited for; of "
    "turns that ended, showed text and were begun by this process",
    "histogram_quantile(0.9, sum by (le) (rate(turnkeeper_first_token_seconds_bucket[5m])))",
    _FIRST_S,
)
TURNS_OPEN = gauge(
    "turnkeeper_turns_open",
    "turns",
    "Turns that have not ended, by what they do; the parents of handoffs count too",
    "sum by (state) (turnkeeper_turns_open)",
    state=("running", "awaiting_approval", "queued"),
)
TURNS_RESUMED = counter(
    "turnkeeper_turns_resumed_total",
    "turns",
    "Turns that a start went on with, since the process before was killed or stopped in their middle",
    "increase(turnkeeper_turns_resumed_total[1d])",
)
COMPLETIONS = counter(
    "turnkeeper_completions_total",
    "completions",
    "Completions whose cost is known, those that were thrown away among them, by what they were for",
    "sum by (work) (rate(turnkeeper_completions_total[5m]))",
    work=Work,
)
TOKENS = counter(
    "turnkeeper_tokens_total",
    "tokens",
    "Tokens of completions: of prompts those found in the server's cache (`cached`) and those evaluated, and those "
    "generated, thought included",
    'sum(rate(turnkeeper_tokens_total{kind="cached"}[5m])) / '
    'sum(rate(turnkeeper_tokens_total{kind=~"cached|evaluated"}[5m]))',
    kind=("cached", "evaluated", "generated"),
    work=Work,
)
REASONING_TOKENS = counter(
    "turnkeeper_reasoning_tokens_total",
    "tokens",
    "Of the generated tokens those of thought",
    "rate(turnkeeper_reasoning_tokens_total[5m])",
    work=Work,
)
ATTEMPTS = counter(
    "turnkeeper_attempts_total",
    "attempts",
    "Attempts at a turn's step that failed and were made again, by why",
    "sum by (kind) (increase(turnkeeper_attempts_total[1h]))",
    kind=ErrorKind,
)
CONTEXT_FILL = histogram(
    "turnkeeper_context_fill_ratio",
    "ratio",
    "How full the slot's context was at the end of a turn's completion, 1 being full",
    "histogram_quantile(0.9, sum by (le) (rate(turnkeeper_context_fill_ratio_bucket[15m])))",
    _FILL,
)
CACHE_LOSSES = counter(
    "turnkeeper_cache_losses_total",
    "completions",
    "Completions that found less in the server's cache than the one before had left there, by why",
    "sum by (reason) (increase(turnkeeper_cache_losses_total[1h]))",
    reason=CacheLossReason,
)
CACHE_LOST_TOKENS = counter(
    "turnkeeper_cache_lost_tokens_total",
    "tokens",
    "Tokens that were evaluated again though they had been in the server's cache, by why",
    "sum by (reason) (rate(turnkeeper_cache_lost_tokens_total[5m]))",
    reason=CacheLossReason,
)
COMPACTIONS = counter(
    "turnkeeper_compactions_total",
    "compactions",
    "Compactions: `summarised` and `shortened` (old results were cut) made room; `fruitless` was paid for and thrown "
    "away",
    "sum by (result) (increase(turnkeeper_compactions_total[1h]))",
    result=("summarised", "shortened", "fruitless"),
)
COMPACTION_FREED = counter(
    "turnkeeper_compaction_freed_tokens_total",
    "tokens",
    "Tokens by which compactions made prompts shorter",
    "increase(turnkeeper_compaction_freed_tokens_total[1h])",
)
GATE_PERMITS = gauge(
    "turnkeeper_gate_permits",
    "completions",
    "Completions that may run at a time: the slots of llama-server",
    "turnkeeper_gate_permits",
)
GATE_IN_USE = gauge(
    "turnkeeper_gate_permits_in_use",
    "completions",
    "Completions that run now",
    "turnkeeper_gate_permits_in_use / turnkeeper_gate_permits",
)
GATE_WAITING = gauge(
    "turnkeeper_gate_waiting", "completions", "Completions that wait for a permit now", "turnkeeper_gate_waiting > 0"
)
GATE_WAIT = histogram(
    "turnkeeper_gate_wait_seconds",
    "seconds",
    "How long a completion waited for its permit, by what it is for; most wait for nothing",
    'histogram_quantile(0.9, sum by (le) (rate(turnkeeper_gate_wait_seconds_bucket{work="turn"}[5m])))',
    _WAIT_S,
    work=Work,
)
TOOL_CALLS = counter(
    "turnkeeper_tool_calls_total",
    "calls",
    "Tool calls that have a result, by its status; those that never ran among them",
    "sum by (status) (rate(turnkeeper_tool_calls_total[5m])) * 60",
    status=ResultStatus,
)
TOOL_CALL_DURATION = histogram(
    "turnkeeper_tool_call_duration_seconds",
    "seconds",
    "From the record that a call is sent to the tool port to that of its result; only of calls that were sent by this "
    "process",
    "histogram_quantile(0.9, sum by (le) (rate(turnkeeper_tool_call_duration_seconds_bucket[5m])))",
    _CALL_S,
    status=ResultStatus,
)
APPROVALS_REQUESTED = counter(
    "turnkeeper_approvals_requested_total",
    "calls",
    "Calls that people were asked about",
    "increase(turnkeeper_approvals_requested_total[1d])",
)
APPROVALS_DECIDED = counter(
    "turnkeeper_approvals_decided_total",
    "calls",
    "Of these, those that people decided on, or that expired; those of turns that were cancelled are in none",
    "sum by (decision) (increase(turnkeeper_approvals_decided_total[1d]))",
    decision=Decided,
)
APPROVAL_WAIT = histogram(
    "turnkeeper_approval_wait_seconds",
    "seconds",
    "From the question to the decision, or to its expiry",
    "histogram_quantile(0.5, sum by (le) (rate(turnkeeper_approval_wait_seconds_bucket[1d])))",
    _PEOPLE_S,
)
APPROVALS_PENDING = gauge(
    "turnkeeper_approvals_pending", "calls", "Calls that wait for a person now", "turnkeeper_approvals_pending > 0"
)
APPROVAL_OLDEST = gauge(
    "turnkeeper_approval_oldest_age_seconds",
    "seconds",
    "How long the one of them has waited that has waited longest; 0 where none does",
    "turnkeeper_approval_oldest_age_seconds > 3600",
)
STREAMS_OPEN = gauge("turnkeeper_streams_open", "streams", "Event streams that are open now", "turnkeeper_streams_open")
READERS_DROPPED = counter(
    "turnkeeper_stream_readers_dropped_total",
    "streams",
    "Streams that were ended since their reader took nothing for `sse_send_timeout_s`",
    "increase(turnkeeper_stream_readers_dropped_total[1h])",
)
READINGS = counter(
    "turnkeeper_readings_total",
    "readings",
    "Readings that ended, by how",
    "sum by (outcome) (increase(turnkeeper_readings_total[1d]))",
    outcome=ReadingOutcome,
)
READING_DURATION = histogram(
    "turnkeeper_reading_duration_seconds",
    "seconds",
    "From a reading's beginning to its end, over restarts",
    "histogram_quantile(0.9, sum by (le) (rate(turnkeeper_reading_duration_seconds_bucket[1h])))",
    _READING_S,
    outcome=ReadingOutcome,
)
READINGS_OPEN = gauge("turnkeeper_readings_open", "readings", "Readings that go on now", "turnkeeper_readings_open")
READING_CHUNKS = counter(
    "turnkeeper_reading_chunks_total",
    "chunks",
    "Chunks that were read, at each level: `used` changed the memory, `unused` did not, `budget_exceeded` would have "
    "made it too long, `parse_failed` got no answer that could be read",
    "sum by (result) (rate(turnkeeper_reading_chunks_total[5m])) * 60",
    result=("used", "unused", "budget_exceeded", "parse_failed"),
)
READING_GATES = counter(
    "turnkeeper_reading_gates_total",
    "gates",
    "What the model said at each chunk whose answer could be read: whether to change the memory (`update`), and "
    "whether to stop (`exit`)",
    'sum(rate(turnkeeper_reading_gates_total{gate="update",state="open"}[1h])) / '
    'sum(rate(turnkeeper_reading_gates_total{gate="update"}[1h]))',
    gate=("update", "exit"),
    state=("open", "shut"),
)
LOG_WRITE = histogram(
    "turnkeeper_log_write_seconds",
    "seconds",
    "From when a write was given to the store until it was on disk, or refused",
    "histogram_quantile(0.99, sum by (le) (rate(turnkeeper_log_write_seconds_bucket[5m])))",
    _WRITE_S,
)
LOG_GROUP = histogram(
    "turnkeeper_log_commit_writes",
    "writes",
    "How many writes were committed together",
    "rate(turnkeeper_log_commit_writes_sum[5m]) / rate(turnkeeper_log_commit_writes_count[5m])",
    _GROUP,
)
LOG_FAILURES = counter(
    "turnkeeper_log_write_failures_total",
    "writes",
    "Writes that the store could not carry out, such as on a full disk; each fails a turn or a request",
    "increase(turnkeeper_log_write_failures_total[5m]) > 0",
)
STORE_SIZE = gauge(
    "turnkeeper_store_size_bytes",
    "bytes",
    "Size of the store's files: the database, and the write-ahead log beside it",
    "sum(turnkeeper_store_size_bytes)",
    file=("database", "wal"),
)
STORE_FREE = gauge(
    "turnkeeper_store_free_bytes",
    "bytes",
    "Room that is left where the store is",
    "predict_linear(turnkeeper_store_free_bytes[6h], 86400) < 0",
)
BUILD = gauge(
    "turnkeeper_build_info",
    "",
    "1, with the service's version",
    "turnkeeper_build_info",
    version=(__version__,),
)

CATALOGUE: tuple[Metric, ...] = tuple(each for each in globals().values() if isinstance(each, Metric))
"""All of them, in the order in which they are described."""
