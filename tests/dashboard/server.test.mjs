import assert from "node:assert/strict";
import { test } from "node:test";
import * as server from "../../service/web/dashboard/state/server.js";
import { Log, TIMINGS, following, frozen } from "./recorded.mjs";

test("each completion is a point, and the last five hundred are kept", () => {
  const log = new Log();
  const usages = Array.from({ length: 510 }, (_, at) => log.usage(1, { completion_tokens: at }));
  const figures = following(server, frozen(server.emptyFigures()), usages);
  assert.deepEqual(
    [figures.points.length, figures.points[0].completionTokens, figures.totals.completions],
    [500, 10, 510],
  );
  const { cachedShare, promptTokens, tokensPerSecond, promptPerSecond, session, turn } = figures.points[0];
  assert.deepEqual(
    [cachedShare, promptTokens, tokensPerSecond, promptPerSecond, session, turn],
    [0.4, 100, 20, 300, "ses_1", "trn_1"],
  );
});

test("a completion that the server did not measure has no speed", () => {
  const log = new Log();
  const none = {
    prompt_tokens: 0,
    cached_tokens: 0,
    timings: { ...TIMINGS, predicted_per_second: 0, prompt_per_second: 0 },
  };
  const figures = server.reduceAll(server.emptyFigures(), [log.usage(1, none), log.usage(1), log.usage(1)]);
  assert.deepEqual([figures.points[0].cachedShare, figures.points[0].tokensPerSecond], [null, null]);
  assert.equal(server.meanTokensPerSecond(figures), 20);
  assert.equal(server.meanTokensPerSecond(server.emptyFigures()), null);
});

test("what goes wrong is listed, newest first, and no more than fifty of it", () => {
  const log = new Log();
  const events = [
    log.record("attempt", { step: 1, attempt: 1, kind: "stream_closed" }),
    log.record("cache_loss", { step: 1, lost_tokens: 80, reason: "slot_taken" }),
    log.signal("store_error"),
    log.finished({ outcome: "turn_limit", limit: "max_tokens" }),
    log.finished({ outcome: "session_full", error: { kind: "context_full", message: "Too long." } }),
    log.finished({ outcome: "failed", error: { kind: "stalled", message: "Nothing came." } }),
    log.finished(),
  ];
  const { errors, totals } = following(server, frozen(server.emptyFigures()), events);
  assert.deepEqual(
    errors.map(({ kind, detail }) => [kind, detail]),
    [
      ["failed", "stalled: Nothing came."],
      ["session_full", "context full: Too long."],
      ["turn_limit", "max tokens"],
      ["store_error", "a record could not be written"],
      ["cache_loss", "80 tokens evaluated again: slot taken"],
      ["attempt", "step 1, attempt 1: stream closed"],
    ],
  );
  assert.deepEqual([totals.turns, totals.answered, totals.failed], [4, 1, 1]);
  const many = server.reduceAll(
    server.emptyFigures(),
    Array.from({ length: 60 }, () => events[0]),
  );
  assert.equal(many.errors.length, 50);
});

test("what a fork takes along is not counted again", () => {
  const log = new Log();
  const old = "2025-12-31T00:00:00.000000Z";
  const events = [
    log.created({ fork: { session: "ses_0", seq: 9, hash: "ab" } }),
    log.usage(1, { time: old }),
    log.finished({ time: old }),
    log.usage(1),
  ];
  const { totals } = following(server, frozen(server.emptyFigures()), events);
  assert.deepEqual([totals.completions, totals.turns], [1, 0]);
});

test("text leaves the figures as they are", () => {
  const figures = server.emptyFigures();
  assert.equal(server.reduce(figures, new Log().signal("content", { step: 1, text: "x", offset: 0 })), figures);
  assert.equal(server.reduce(figures, new Log().assistant(1)), figures);
});
