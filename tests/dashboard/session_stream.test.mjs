import assert from "node:assert/strict";
import { test } from "node:test";
import { emptySession, reconnected, reduce, reduceAll, sessionOf } from "../../service/web/dashboard/state/session.js";
import { Log } from "./recorded.mjs";
import { begun, view } from "./session_view.mjs";

test("events of no session of this family are passed over", () => {
  const { log, start } = begun();
  const seen = view(...start);
  assert.equal(reduce(seen, log.user("Hello", { session: "ses_9" })), seen);
  assert.equal(reduce(seen, log.signal("content", { session: "ses_9", step: 1, text: "x", offset: 0 })), seen);
  assert.equal(reduce(seen, log.signal("store_error", { session: "ses_9" })), seen);
  assert.equal(sessionOf(seen, "ses_9"), null);
});

test("unknown events are passed over, and unknown records are behind the cursor", () => {
  const { log, start } = begun();
  const seen = view(...start);
  for (const type of ["novelty", "constructor", "toString", "__proto__"]) {
    assert.equal(reduce(seen, log.signal(type)), seen);
    const after = reduce(seen, { ...log.record(type), seq: 3, pos: 30 });
    assert.deepEqual({ ...after, lastPos: 2, lastSeq: 2 }, seen);
    assert.deepEqual([after.lastPos, after.lastSeq], [30, 3]);
  }
});

test("what is told of a step or a turn that is over changes nothing", () => {
  const { log, start } = begun();
  const settled = view(...start, log.assistant(1, { content: "x" }));
  const late = [
    log.signal("content", { step: 1, text: "late", offset: 1 }),
    log.signal("progress", { step: 1, processed: 1, cached: 0, total: 1, time_ms: 1 }),
    log.signal("retrying", { step: 1, attempt: 1, reason: "stalled", delay_ms: 1 }),
    log.signal("partial", { step: 1, reasoning: "", content: "late" }),
    log.signal("thinking_capped", { step: 1, reasoning_tokens: 1 }),
  ];
  for (const signal of late) assert.equal(reduce(settled, signal), settled);
  const finished = view(...start, log.finished());
  for (const signal of [
    ...late,
    log.signal("queued", { position: 1 }),
    log.signal("waiting", { reason: "idle", waited_ms: 1 }),
  ])
    assert.equal(reduce(finished, signal), finished);
});

test("what concerns the stream or the session is shown until it is over", () => {
  const { log, start } = begun();
  const seen = view(...start);
  const signal = (type, fields = {}) => log.signal(type, { turn: null, ...fields });

  const stopping = reduce(seen, signal("shutting_down"));
  assert.equal(stopping.shuttingDown, true);
  assert.deepEqual(reconnected(stopping), seen);
  assert.equal(reconnected(seen), seen);
  assert.equal(reduce(stopping, log.signal("waiting", { reason: "idle", waited_ms: 1 })).shuttingDown, false);
  assert.equal(reduce(seen, signal("shutting_down", { session: null })).shuttingDown, true);
  assert.equal(reduce(seen, signal("session_deleted")).deleted, true);
  assert.equal(reduce(seen, signal("resync", { last_pos: 1 })).outOfDate, true);
  const broken = reduce(seen, signal("store_error"));
  assert.equal(broken.storeError, true);
  assert.equal(reduce(broken, log.finished()).storeError, false);
});

test("what does not change stays the same object, whatever is told of the rest", () => {
  const { log, start } = begun();
  const before = view(
    ...start,
    log.calls(1, 1, 2),
    log.result(1),
    log.result(2),
    log.finished(),
    log.user("More", { turn: "trn_2" }),
  );
  const delta = log.signal("content", { turn: "trn_2", step: 1, text: "x", offset: 0 });

  const after = reduce(before, delta);

  assert.equal(after.turns.trn_1, before.turns.trn_1);
  for (const part of ["order", "children", "family", "summaries", "created", "usage"])
    assert.equal(after[part], before[part], part);
  assert.notEqual(after.turns.trn_2, before.turns.trn_2);
  assert.equal(after.turns.trn_2.notices, before.turns.trn_2.notices);
});

/** A view whose every read of a turn is counted. */
function counted(seen) {
  let reads = 0;
  const turns = new Proxy(seen.turns, { get: (all, id) => ((reads += 1), all[id]) });
  return { view: { ...seen, turns }, reads: () => reads };
}

test("a batch copies the list of turns once, and reads no more turns the longer the session is", () => {
  const long = (turns) => {
    const log = new Log();
    const events = [log.created()];
    for (let turn = 0; turn < turns; turn += 1)
      events.push(log.user("x", { turn: `t${turn}` }), log.finished({ turn: `t${turn}` }));
    return reduceAll(emptySession("ses_1"), [...events, log.user("last")]);
  };
  const deltas = (count) =>
    Array.from({ length: count }, (_, at) => new Log().signal("content", { step: 1, text: "x", offset: at }));
  const readsOf = (turns, count) => {
    const seen = counted(long(turns));
    assert.equal(reduceAll(seen.view, deltas(count)).turns.trn_1.steps[0].content.length, count);
    return seen.reads() - (turns + 1);
  };

  assert.equal(readsOf(10, 100), readsOf(1_000, 100));
  assert.equal(readsOf(10, 1), readsOf(10, 1_000));
});

test("ten thousand events leave all finished turns as they were made", () => {
  const log = new Log();
  let seen = reduce(emptySession("ses_1"), log.created());
  const made = new Map();
  for (let number = 0; number < 1_000; number += 1) {
    const turn = `trn_${number}`;
    const events = [log.user("x", { turn })];
    for (let at = 0; at < 6; at += 1) events.push(log.signal("content", { turn, step: 1, text: "x", offset: at }));
    events.push(log.assistant(1, { turn, content: "xxxxxx" }), log.usage(1, { turn }), log.finished({ turn }));
    seen = reduceAll(seen, events);
    made.set(turn, seen.turns[turn]);
  }
  assert.equal(seen.order.length, 1_000);
  for (const [turn, first] of made) assert.equal(seen.turns[turn], first);
});
