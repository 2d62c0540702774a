"""The limits as users meet them: the rows of `docs/limits.md`, with their defaults from the settings."""

from __future__ import annotations

from dataclasses import dataclass

from service.config.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRow:
    """One limit; `test` is FILE::NAME below `tests/`.

    `setting` is the setting's name, None where no setting of ours is the bound: then `default` says what is. `off` is
    the setting's value that means no bound.
    """

    limit: str
    setting: str | None
    unit: str = ""
    default: str = ""
    off: object = None
    seen: str
    test: str

    @property
    def default_words(self) -> str:
        """The default as the table shows it."""
        if self.setting is None:
            return self.default
        value: object = Settings.model_fields[self.setting].default
        if isinstance(value, bool):
            return "on" if value else "off"
        if value == self.off:
            return f"{value} (no limit)"
        return f"{value} {self.unit}"


ENDING = (
    LimitRow(
        limit="`tool_iterations`",
        setting="tool_iterations",
        unit="batches",
        seen=(
            "The batch behind the last allowed one isn't run: each of its calls has a `tool_result` with status "
            "`not_run`. Outcome `turn_limit`, `limit: tool_iterations`."
        ),
        test="turns/test_limits.py::test_batches_of_calls_run_up_to_the_limit",
    ),
    LimitRow(
        limit="`tool_iterations`, with `on_tool_limit: conclude`",
        setting="tool_iterations",
        unit="batches",
        seen=(
            "The step behind the last allowed batch is asked for with `tool_choice: none`. Outcome `answered` with "
            "`limit: tool_iterations`; `turn_limit` if the model writes no text even then."
        ),
        test="turns/test_limits.py::test_a_turn_that_concludes_is_asked_for_an_answer_at_the_limit",
    ),
    LimitRow(
        limit="`repeated_call`",
        setting="repeat_detection",
        seen=(
            "The second equal call of a turn isn't run: status `repeated`, with the beginning of the first one's "
            "result. With the third its whole batch is `not_run`. Outcome `turn_limit`, `limit: repeated_call`."
        ),
        test="turns/test_repeated_calls.py::test_one_repeat_is_answered_and_the_second_ends_the_turn",
    ),
    LimitRow(
        limit="`denied_repeatedly`",
        setting="denied_repeats",
        unit="steps",
        seen=(
            "A denied call that is asked for again is denied without asking anybody: status `denied`. In the step "
            "that reaches the limit nothing runs. Outcome `turn_limit`, `limit: denied_repeatedly`."
        ),
        test="turns/test_limit_denials.py::test_steps_that_ask_again_for_what_was_denied_end_the_turn_at_the_limit",
    ),
    LimitRow(
        limit="`max_tokens`",
        setting="max_tokens",
        unit="tokens of one answer, thought not counted",
        seen=(
            "An answer that is cut with text in it: outcome `answered`, `truncated: true`. One that is cut before any "
            "text: outcome `turn_limit`, `limit: max_tokens`; calls that came so far aren't run."
        ),
        test="turns/test_limits.py::test_an_answer_that_is_cut_before_it_says_anything_ends_the_turn_at_max_tokens",
    ),
    LimitRow(
        limit="`turn_time`",
        setting="turn_time_s",
        unit="seconds",
        off=0,
        seen=(
            "What is in flight is stopped. Text that has come is kept, calls that ran are `cancelled`, calls that "
            "weren't sent are `not_run`. Outcome `turn_limit`, `limit: turn_time`."
        ),
        test="turns/test_limit_time.py::test_while_text_streams_what_has_come_is_kept",
    ),
    LimitRow(
        limit="a model that never stops thinking",
        setting="thinking_tokens",
        unit="tokens of a turn, and at most half of the context that is left",
        seen=(
            "A thought that runs on over its budget is ended at the server, then broken off and asked for once more "
            "(`retrying`, reason `thinking_cap`). After the second time: outcome `failed`, error `thinking_cap`."
        ),
        test="turns/test_limit_thinking.py::test_a_second_thought_without_an_end_fails_the_turn_and_names_the_limit",
    ),
    LimitRow(
        limit="the context",
        setting=None,
        default="what one slot of llama-server has (`--ctx-size`)",
        seen=(
            "A context that is full before there is text is compacted and the step asked again; where nothing more can "
            "be left out, or `compaction` is `off`: outcome `session_full`, error `context_full`. With text: "
            "`answered`, `truncated: true`."
        ),
        test=(
            "turns/test_limit_context.py::"
            "test_a_full_context_without_an_answer_is_told_from_an_answer_cut_at_max_tokens"
        ),
    ),
)

CUTTING = (
    LimitRow(
        limit="size of a tool result",
        setting="tool_result_cap",
        unit="bytes",
        seen=(
            "The model gets head and tail, and in between how much is missing. The `tool_result` has "
            "`truncated: true`, `original_bytes` and `cap`."
        ),
        test="turns/test_long_results.py::test_a_result_above_its_cap_is_cut_and_the_record_says_so",
    ),
    LimitRow(
        limit="size of a batch's results",
        setting=None,
        default="half of the context that is left, at three bytes a token",
        seen="As above: each result of the batch has a smaller `cap`.",
        test="turns/test_long_results.py::test_the_results_of_one_batch_share_half_of_the_room_that_is_left",
    ),
    LimitRow(
        limit="size of a tool port's answer",
        setting="max_tool_body_bytes",
        unit="bytes",
        seen="The rest isn't read. The result says so at its end and has `truncated: true`.",
        test="turns/test_read_result.py::test_what_the_port_sent_too_much_of_is_marked_and_not_promised_to_be_readable",
    ),
    LimitRow(
        limit="thought",
        setting="thinking_tokens",
        unit="tokens of a turn, and at most half of the context that is left",
        seen="A signal `thinking_capped`, `thinking_capped: true` in the `usage` record; the answer follows.",
        test="turns/test_limit_thinking.py::test_a_thought_that_comes_to_its_budget_is_told_and_kept_in_the_record",
    ),
)

COMPACTING = (
    LimitRow(
        limit="share of the context",
        setting="compact_at",
        unit="of a slot's context",
        seen=(
            "Before the next step the oldest part of the session is summarised: a `summary` record with `covers`, "
            "`tokens_before` and `tokens_after`; the log keeps all of it, and the next `cache_loss` has reason "
            "`compacted`."
        ),
        test=(
            "turns/test_compaction.py::"
            "test_between_turns_the_oldest_turns_become_a_summary_and_the_last_ones_stay_word_by_word"
        ),
    ),
    LimitRow(
        limit="number of messages",
        setting="compact_messages",
        unit="messages of a prompt",
        off=0,
        seen="As above.",
        test="turns/test_compaction.py::test_messages_are_counted_where_that_is_asked_for",
    ),
    LimitRow(
        limit="summaries in vain",
        setting=None,
        default="two in a turn",
        seen=(
            "A summary that fails, frees less than a tenth, or has more than twice the tokens that it may have is "
            "not kept: a `usage` record with `summary: true` says what it cost. Then the oldest results are "
            "shortened (`shortened` of the `summary`), and then the turn ends `session_full`."
        ),
        test=(
            "turns/test_compaction_trouble.py::"
            "test_summaries_that_fail_or_say_nothing_are_paid_for_but_not_kept_and_tried_twice_in_a_turn"
        ),
    ),
)

WAITING = (
    LimitRow(
        limit="the wait for a person",
        setting="approval_wait_s",
        unit="seconds",
        off=0,
        seen="The call's result is `denied`, `approval expired`, and the turn goes on.",
        test="turns/test_approvals.py::test_an_approval_that_nobody_gives_expires_and_the_turn_goes_on",
    ),
    LimitRow(
        limit="handoffs one below the other",
        setting=None,
        default="three",
        seen="The call that would go deeper is `failed`; the batch goes on.",
        test="turns/test_handoff.py::test_sessions_hand_over_at_most_three_deep",
    ),
)

REFUSING = (
    LimitRow(
        limit="a message that doesn't fit",
        setting="min_room",
        unit="tokens left for the answer",
        seen=(
            "409 `session_full` with `needed_tokens` and `size_tokens`; nothing is recorded. The session isn't lost: "
            "a shorter message may fit."
        ),
        test="turns/test_limits.py::test_a_message_is_refused_when_it_leaves_less_than_min_room",
    ),
    LimitRow(
        limit="a limit that would rise",
        setting=None,
        default="the setting of the same name",
        seen="422 `validation`, with the limit, what was asked and what is allowed; nothing is recorded.",
        test="turns/test_sessions.py::test_limits_may_be_lowered_and_never_raised",
    ),
    LimitRow(
        limit="requests in a minute",
        setting="requests_per_minute",
        unit="requests of an API key; without keys there is no bound",
        off=0,
        seen="429 `rate_limited` with `Retry-After`; nothing is done. What is refused does not count.",
        test="web/test_quotas.py::test_a_key_sends_so_many_requests_in_a_minute_and_is_told_when_to_come_back",
    ),
    LimitRow(
        limit="requests at the same time",
        setting="requests_at_once",
        unit="requests of an API key; a POST whose events are streamed is one until it ends",
        off=0,
        seen="429 `rate_limited` with `Retry-After`; nothing is done.",
        test="web/test_quotas.py::test_as_many_are_answered_at_a_time_as_are_allowed_and_an_end_makes_room",
    ),
    LimitRow(
        limit="open streams",
        setting="streams_at_once",
        unit="GETs of addresses that end in `/events`, of an API key",
        off=0,
        seen="As above.",
        test="web/test_quotas.py::test_streams_and_requests_are_counted_apart",
    ),
    LimitRow(
        limit="sessions of an owner",
        setting="sessions_per_owner",
        unit="sessions, forks and those that handoffs made among them",
        off=0,
        seen=(
            "429 `rate_limited` with `Retry-After` until some are deleted. A handoff is not refused for this, nor is a "
            "message to a session that is there."
        ),
        test="turns/test_sessions_per_owner.py::test_as_many_sessions_are_made_as_are_allowed_for_each_owner",
    ),
    LimitRow(
        limit="turns of an owner",
        setting="turns_per_owner",
        unit="turns of all sessions that run, wait for people or wait in queues",
        off=0,
        seen=(
            "429 `queue_full` with `Retry-After`; nothing is recorded. The turn of a handoff counts and is not "
            "refused; `on_busy: interrupt` takes the place of the turn that it ends."
        ),
        test=("turns/test_turns_per_owner.py::test_turns_that_run_in_any_sessions_count_together_until_they_end"),
    ),
    LimitRow(
        limit="readings of an owner",
        setting="readings_per_owner",
        unit="readings that go on",
        off=0,
        seen="429 `queue_full` with `Retry-After`; nothing is kept.",
        test="readings/test_readings_per_owner.py::test_as_many_go_on_as_are_allowed_for_each_owner_until_one_ends",
    ),
)
