import assert from "node:assert/strict";
import { test } from "node:test";
import { isOpen, reduce, reduceAll } from "../../service/web/dashboard/state/session.js";
import { Log, TIMINGS, USAGE } from "./recorded.mjs";
import { begun, only, view } from "./session_view.mjs";

test("a session shows what it was made with", () => {
  const log = new Log();
  const fork = { session: "ses_0", seq: 4, hash: "ab" };
  const created = log.created({ agent: "desk", fork, class: "internal", untrusted: true });

  const seen = view(created);

  assert.equal(seen.created, created);
  assert.deepEqual([seen.agent, seen.fork, seen.class, seen.untrusted], ["desk", fork, "internal", true]);
  assert.deepEqual([seen.lastPos, seen.lastSeq, seen.order], [1, 1, []]);
});

test("a turn begins with its message and ends with its outcome", () => {
  const { log, start } = begun();

  const running = view(...start);
  const failed = { outcome: "failed", error: { kind: "stalled", message: "…" }, content: null };
  const ended = view(...start, log.finished({ ...failed, truncated: true, limit: "turn_time" }));

  assert.deepEqual([only(running).state, only(running).content, running.running], ["running", "Hello", "trn_1"]);
  assert.deepEqual(only(running).options, { tool_choice: "auto" });
  assert.ok(isOpen(only(running)) && !isOpen(only(ended)));
  const { state, outcome, limit, truncated, error, answer, firstSeq, lastSeq } = only(ended);
  assert.deepEqual([state, outcome, limit, truncated, answer], ["finished", "failed", "turn_time", true, null]);
  assert.deepEqual([error, firstSeq, lastSeq, ended.running], [failed.error, 2, 3, null]);
});

test("a queued turn waits with its place and is put behind those that were taken up before it", () => {
  const log = new Log();
  const queued = (turn) => log.record("turn_queued", { turn, content: turn, options: {} });
  const events = [log.created(), log.user("first"), queued("trn_2"), queued("trn_3")];
  events.push(log.signal("queued", { turn: "trn_3", position: 2 }), log.finished());
  events.push(log.user("interrupts", { turn: "trn_4" }));

  const waiting = view(...events);
  const taken = view(...events, log.finished({ turn: "trn_4" }), log.user("third", { turn: "trn_3" }));

  assert.deepEqual(waiting.order, ["trn_1", "trn_4", "trn_2", "trn_3"]);
  assert.deepEqual([waiting.turns.trn_3.state, waiting.turns.trn_3.queuedPosition], ["queued", 2]);
  assert.deepEqual(taken.order, ["trn_1", "trn_4", "trn_3", "trn_2"]);
  assert.deepEqual([taken.turns.trn_3.state, taken.turns.trn_3.queuedPosition], ["running", null]);
});

test("a turn that was cancelled in the queue has an end and no beginning", () => {
  const log = new Log();
  const turn = view(
    log.created(),
    log.record("turn_queued", { content: "x", options: {} }),
    log.finished({ outcome: "cancelled" }),
  );
  assert.deepEqual([only(turn).state, only(turn).startedAt, only(turn).outcome], ["finished", null, "cancelled"]);
});

test("waiting, its place and its progress are shown until text comes", () => {
  const { log, start } = begun();
  const queued = log.signal("queued", { position: 3 });
  const waiting = log.signal("waiting", { reason: "loading", waited_ms: 2000 });
  const progress = log.signal("progress", { step: 1, processed: 5, cached: 2, total: 9, time_ms: 30 });

  assert.equal(only(view(...start, queued)).queuedPosition, 3);
  const after = only(view(...start, queued, waiting));
  assert.deepEqual([after.queuedPosition, after.waiting], [null, { reason: "loading", waitedMs: 2000 }]);
  const moving = only(view(...start, waiting, progress));
  assert.deepEqual(
    [moving.waiting, moving.progress],
    [null, { step: 1, processed: 5, cached: 2, total: 9, timeMs: 30 }],
  );
  const spoken = only(
    view(...start, queued, waiting, progress, log.signal("content", { step: 1, text: "x", offset: 0 })),
  );
  assert.deepEqual([spoken.queuedPosition, spoken.waiting, spoken.progress], [null, null, null]);
});

test("a compaction by hand waits without a turn", () => {
  const log = new Log();
  const waiting = view(log.created(), log.signal("queued", { turn: null, position: 1 }));
  assert.deepEqual(waiting.byHand, { queuedPosition: 1, waiting: null });
  const summary = { covers: 1, text: "Short.", shortened: [], tokens_before: 90, tokens_after: 30, class: "public" };
  const done = reduce(waiting, log.record("summary", { turn: null, ...summary, untrusted: false, usage: USAGE }));
  assert.equal(done.byHand, null);
  assert.deepEqual([done.usedTokens, done.usage.prompt, done.order], [30, 100, []]);
  assert.deepEqual(
    [done.summaries[0].turn, done.summaries[0].text, done.summaries[0].tokensBefore],
    [null, "Short.", 90],
  );
});

test("a compaction within a turn is a notice of it", () => {
  const { log, start } = begun();
  const summary = { covers: 1, text: "Short.", shortened: [2], tokens_before: 90, tokens_after: 30, class: "secret" };
  const seen = view(...start, log.record("summary", { ...summary, untrusted: true, usage: USAGE }));
  const { kind, covers, tokensBefore, tokensAfter } = only(seen).notices[0];
  assert.deepEqual([kind, covers, tokensBefore, tokensAfter], ["summary", 1, 90, 30]);
  assert.equal(seen.summaries[0].turn, "trn_1");
  assert.equal(only(seen).usage.prompt, 100);
});

test("deltas become text; their offsets count code points", () => {
  const { log, start } = begun();
  const said = (text, offset, part = "content") => log.signal(part, { step: 1, text, offset });

  const seen = view(...start, said("Hm 🤔", 0, "reasoning"), said("👩‍🚀 a", 0), said("🚀b", 5));
  const again = reduceAll(seen, [said("👩‍🚀 a", 0), said("a🚀bc", 4), said("c", 7)]);

  const [step] = only(seen).steps;
  assert.deepEqual([step.reasoning, step.content, step.contentLength, step.settled], ["Hm 🤔", "👩‍🚀 a🚀b", 7, false]);
  assert.deepEqual([step.reasoningTokens, step.reasoningTokensEstimated], [1, true]);
  assert.equal(only(again).steps[0].content, "👩‍🚀 a🚀bc");
  assert.equal(reduce(again, said("👩", 0)), again);
});

test("a partial answer takes the place of what was known", () => {
  const { log, start } = begun();
  const delta = log.signal("content", { step: 1, text: "Gone", offset: 0 });
  const partial = log.signal("partial", { step: 1, reasoning: "🤔", content: "There 🌊" });
  const seen = view(...start, delta, partial, log.signal("content", { step: 1, text: "!", offset: 7 }));
  const [step] = only(seen).steps;
  assert.deepEqual([step.reasoning, step.content], ["🤔", "There 🌊!"]);
});

test("the record of a step is its text, with and without the deltas", () => {
  const { log, start } = begun();
  const deltas = [
    log.signal("reasoning", { step: 1, text: "Hm.", offset: 0 }),
    log.signal("content", { step: 1, text: "Y", offset: 0 }),
  ];
  const record = log.assistant(1, {
    reasoning: "Hm.",
    content: "Yes",
    finish_reason: "length",
    cut_calls: [{ name: "a", arguments: "{" }],
  });
  const usage = log.usage(1, { thinking_capped: true });

  const live = view(...start, ...deltas, record, usage);
  const replayed = view(...start, record, usage);

  assert.deepEqual(live, replayed);
  const [step] = only(live).steps;
  assert.deepEqual([step.content, step.settled, step.finishReason, step.cutCalls.length], ["Yes", true, "length", 1]);
  assert.deepEqual([step.reasoningTokens, step.reasoningTokensEstimated, step.thinkingCapped], [4, false, true]);
  assert.deepEqual(step.usage.timings, TIMINGS);
  assert.equal(live.usedTokens, 110);
  assert.deepEqual(
    only(live).notices.map(({ kind, reasoningTokens }) => [kind, reasoningTokens]),
    [["thinking_capped", 4]],
  );
});

test("usage is summed, also of what was discarded, which fills no context", () => {
  const { log, start } = begun();
  const seen = view(...start, log.usage(1, { discarded: true }), log.assistant(1, { content: "x" }), log.usage(1));
  assert.deepEqual(only(seen).usage, {
    prompt: 200,
    cached: 80,
    completion: 20,
    reasoning: 8,
    completions: 2,
    toolCalls: 0,
  });
  assert.deepEqual(seen.usage, only(seen).usage);
  assert.equal(view(...start, log.usage(1, { discarded: true })).usedTokens, 0);
});

test("a step that is tried again forgets its text and says why", () => {
  const { log, start } = begun();
  const delta = log.signal("content", { step: 1, text: "Half", offset: 0 });
  const capped = log.signal("thinking_capped", { step: 1, reasoning_tokens: 9 });
  const attempt = log.record("attempt", { step: 1, attempt: 1, kind: "stream_closed" });
  const retrying = log.signal("retrying", { step: 1, attempt: 1, reason: "stream_closed", delay_ms: 500 });

  assert.equal(only(view(...start, capped)).steps[0].thinkingCapped, true);
  const missed = only(view(...start, delta, capped, attempt)).steps[0];
  const told = only(view(...start, delta, capped, attempt, retrying)).steps[0];
  const spoken = only(
    view(...start, delta, attempt, retrying, log.signal("content", { step: 1, text: "A", offset: 0 })),
  );

  for (const step of [missed, told])
    assert.deepEqual([step.content, step.thinkingCapped, step.attempts], ["", false, 1]);
  assert.deepEqual(missed.retrying, { attempt: 1, reason: "stream_closed", delayMs: null });
  assert.deepEqual(told.retrying, { attempt: 1, reason: "stream_closed", delayMs: 500 });
  assert.deepEqual([spoken.steps[0].content, spoken.steps[0].retrying], ["A", null]);
  assert.deepEqual([spoken.notices[0].kind, spoken.notices[0].reason], ["attempt", "stream_closed"]);
});

test("a step that came to nothing is gone when its turn has ended", () => {
  const { log, start } = begun();
  const lost = log.signal("reasoning", { step: 2, text: "Hm", offset: 0 });
  const kept = log.assistant(1, { content: "x" });
  const seen = view(
    ...start,
    kept,
    lost,
    log.record("attempt", { step: 2, attempt: 1, kind: "stalled" }),
    log.finished(),
  );
  assert.deepEqual(
    only(seen).steps.map((step) => step.number),
    [1],
  );
});

test("a restart says that it went on and forgets what was in flight", () => {
  const { log, start } = begun();
  const delta = log.signal("content", { step: 1, text: "Half", offset: 0 });
  const seen = view(...start, delta, log.record("resumed", { attempt: 2 }));
  assert.equal(only(seen).steps[0].content, "");
  assert.deepEqual([only(seen).notices[0].kind, only(seen).notices[0].attempt], ["resumed", 2]);
});

test("a cache loss is told of its step and of the turn", () => {
  const { log, start } = begun();
  const loss = { step: 1, expected_tokens: 90, cached_tokens: 10, lost_tokens: 80, reason: "slot_taken" };
  const seen = only(view(...start, log.assistant(1, { content: "x" }), log.record("cache_loss", loss)));
  assert.deepEqual(seen.steps[0].cacheLoss, {
    expectedTokens: 90,
    cachedTokens: 10,
    lostTokens: 80,
    reason: "slot_taken",
  });
  assert.deepEqual([seen.notices[0].kind, seen.notices[0].step, seen.notices[0].lostTokens], ["cache_loss", 1, 80]);
});
