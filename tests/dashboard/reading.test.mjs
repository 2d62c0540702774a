import assert from "node:assert/strict";
import { test } from "node:test";
import * as reading from "../../service/web/dashboard/state/reading.js";
import { ReadingLog, TIME, place, states, view } from "./reading_log.mjs";

test("a reading shows what it is asked, and its chunks once they are planned", () => {
  const log = new ReadingLog();
  const [created, planned] = log.begin();
  const asked = view(created);
  assert.deepEqual([asked.query, asked.state, asked.documents[0].chunks, asked.passes], ["Who?", "queued", null, []]);
  const seen = view(created, planned);
  assert.deepEqual([seen.state, seen.documents[0].chunks, seen.plan.chunkTokens, seen.model], ["running", 3, 128, "m"]);
  assert.deepEqual(
    seen.passes[0].cells.map(({ chunk, start, end }) => [chunk, start, end]),
    [
      [1, 0, 10],
      [2, 10, 25],
      [3, 25, 30],
    ],
  );
  assert.deepEqual([states(seen), seen.lastPos], [["waiting", "waiting", "waiting"], 12]);
});

test("a chunk is read, and its gate falls", () => {
  const log = new ReadingLog();
  const start = log.begin();
  const seen = view(start, log.signal("chunk_started", { ...place(1), chunks: 3 }));
  assert.deepEqual(states(seen), ["reading", "waiting", "waiting"]);
  const kept = view(start, log.kept(1));
  const { state, update, exit, pUpdate, pExit, closed, usage } = reading.cellOf(kept, place(1));
  assert.deepEqual(
    [state, update, exit, pUpdate, pExit, closed, usage.prompt],
    ["kept", false, false, 0.9, 0.8, true, 100],
  );
  assert.deepEqual([kept.seen, kept.used, kept.calls, kept.usage.completion], [1, 0, 1, 10]);
});

test("a memory knows its evidence and the memory before", () => {
  const log = new ReadingLog();
  const seen = view(log.begin(), log.used(1), log.kept(2), log.used(3, { parents: ["m111"] }));
  assert.deepEqual(states(seen), ["used", "kept", "used"]);
  assert.deepEqual([seen.passes[0].memory.text, seen.memories.length, seen.used], ["M113", 2, 2]);
  assert.deepEqual(
    reading.chainOf(seen, "m113").map((memory) => memory.chunk),
    [3, 1],
  );
  assert.deepEqual(reading.evidenceOf(seen, "e113"), {
    level: 0,
    document: 1,
    start: 10,
    end: 25,
    sha256: "e113",
    by: place(3),
  });
  assert.deepEqual([reading.cellOf(seen, place(3)).evidence, reading.cellOf(seen, place(3)).memory], ["e113", "m113"]);
  assert.deepEqual(
    [reading.evidenceOf(seen, "x"), reading.chainOf(seen, "x"), reading.cellOf(seen, place(9))],
    [null, [], null],
  );
});

test("a memory that came out the same again does not send anybody round in circles", () => {
  const log = new ReadingLog();
  const seen = view(log.begin(), log.used(1, { parents: ["m111"] }));
  assert.equal(reading.chainOf(seen, "m111").length, 1);
});

test("a candidate over its budget, one that was cut, and a reply that never parsed say so", () => {
  const log = new ReadingLog();
  const seen = view(
    log.begin(),
    [log.gate(1, true), log.record("budget_exceeded", { ...place(1), tokens: 99, budget: 64 }), log.usage(1)],
    [log.record("budget_exceeded", { ...place(2), tokens: null, budget: 64 }), log.usage(2)],
    [log.record("parse_failed", { ...place(3), attempts: 3, reason: "it is no JSON" }), log.usage(3)],
  );
  assert.deepEqual(states(seen), ["over_budget", "over_budget", "parse_failed"]);
  assert.deepEqual(
    [1, 2, 3].map((chunk) => reading.cellOf(seen, place(chunk)).tokens),
    [99, null, null],
  );
  const { attempts, reason, update } = reading.cellOf(seen, place(3));
  assert.deepEqual([attempts, reason, update, seen.passes[0].memory], [3, "it is no JSON", null, null]);
});

test("the reply about a chunk is shown while it is written, each try anew", () => {
  const log = new ReadingLog();
  const start = log.begin();
  const said = (text, offset) => log.signal("content", { ...place(1), text, offset });
  const again = log.signal("retrying", { ...place(1), attempt: 1, reason: "it is no JSON", delay_ms: 0 });
  const cell = (...events) => reading.cellOf(view(start, ...events), place(1));

  assert.deepEqual(
    [cell(said("{🚀", 0), said("🚀}", 1)).text, cell(said("{🚀", 0), said("🚀}", 1)).length],
    ["{🚀}", 3],
  );
  assert.deepEqual([cell(said("{", 0), again).text, cell(said("{", 0), again).retrying.reason], ["", "it is no JSON"]);
  assert.deepEqual(
    [cell(said("{", 0), said("[", 0)).text, cell(said("{", 0), again, said("[", 0)).retrying],
    ["[", null],
  );
  const partial = log.signal("partial", { ...place(1), content: '{"u' });
  assert.deepEqual([cell(said("x", 0), partial).text, cell(partial).state], ['{"u', "reading"]);
  assert.deepEqual([cell(said("x", 0), ...log.kept(1)).text, cell(...log.kept(1), said("late", 0)).text], ["", ""]);
});

test("the answer is shown while it is written, and kept", () => {
  const log = new ReadingLog();
  const written = { level: 1, document: null, chunk: null };
  const start = [...log.begin({ ends: [[10]] }), ...log.used(1)];
  const seen = view(start, log.signal("content", { ...written, text: "Ann", offset: 0 }));
  assert.equal(seen.drafting.text, "Ann");
  const answer = log.record("answer", { level: 1, content: "Ann.", memory: "m111", truncated: true });
  const kept = view(
    start,
    answer,
    log.signal("content", { ...written, text: "late", offset: 0 }),
    log.usage(null, written),
  );
  assert.deepEqual(
    [kept.answer, kept.drafting, kept.calls],
    [{ content: "Ann.", memory: "m111", truncated: true }, null, 2],
  );
});

test("waiting and progress are shown until they are over", () => {
  const log = new ReadingLog();
  const start = log.begin();
  const queued = log.signal("queued", { position: 2 });
  const waiting = log.signal("waiting", { reason: "loading", waited_ms: 5 });
  const progress = log.signal("progress", { chunks_seen: 1, chunks: 3, tokens_per_second: 200.5, left_s: 4.5 });

  assert.equal(view(start, queued).queuedPosition, 2);
  assert.deepEqual(view(start, queued, waiting).waiting, { reason: "loading", waitedMs: 5 });
  assert.equal(view(start, queued, waiting).queuedPosition, null);
  assert.equal(view(start, waiting, log.signal("content", { ...place(1), text: "x", offset: 0 })).waiting, null);
  const moving = view(start, progress);
  assert.deepEqual(moving.progress, { seen: 1, of: 3, tokensPerSecond: 200.5, leftMs: 4500 });
  const unknown = log.signal("progress", { chunks_seen: 0, chunks: 3, tokens_per_second: null, left_s: null });
  assert.deepEqual(view(start, unknown).progress, { seen: 0, of: 3, tokensPerSecond: null, leftMs: null });
});

test("a gate that counts ends its pass, and what was not read is skipped", () => {
  const log = new ReadingLog();
  const seen = view(
    log.begin({ exit: "asked" }),
    log.kept(1, { exit: true, exit_refused: true }),
    log.used(2, { exit: true }),
  );
  assert.deepEqual([states(seen), seen.passes[0].exited, seen.exitsRefused], [["kept", "used", "skipped"], true, 1]);
  const other = new ReadingLog();
  assert.equal(view(other.begin(), other.used(1, { exit: true })).passes[0].exited, false);
});

test("an answer that was the same and sure for three chunks ends its pass", () => {
  const sure = { draft: " Ann ", draft_probability: 0.999 };
  const read = (...drafts) => {
    const log = new ReadingLog();
    const start = log.begin({ ends: [[10, 20, 30, 40]], exit: "measured" });
    const chunks = drafts.map((draft, at) => (at === 0 ? log.used(1, draft) : log.kept(at + 1, draft)));
    return view(start, ...chunks).passes[0];
  };
  assert.equal(read(sure, sure).exited, false);
  assert.equal(read(sure, sure, sure).exited, true);
  assert.equal(read(sure, sure, { ...sure, draft_probability: 0.99 }).exited, false);
  assert.equal(read(sure, sure, { ...sure, draft: "Bob" }).exited, false);
});

test("the memories are read when the last document is through", () => {
  const log = new ReadingLog();
  const start = log.begin({ ends: [[10], [20], [30]], level: 2 });
  const first = [...log.used(1, { document: 1, text: "é" }), ...log.kept(1, { document: 2 })];
  const half = view(start, first);
  assert.deepEqual(
    half.passes.map((pass) => [pass.key, pass.cells.length]),
    [
      ["1/1", 1],
      ["1/2", 1],
      ["1/3", 1],
      ["2/0", 0],
    ],
  );

  const ready = view(start, first, log.used(1, { document: 3 }));
  assert.deepEqual(
    reading.passOf(ready, 2, 3).cells.map(({ chunk, document, start: from, end }) => [chunk, document, from, end]),
    [
      [1, 1, 0, 2],
      [2, 3, 0, 4],
    ],
  );
  const done = log.used(1, { level: 2, document: 1 }).reduce(reading.reduce, ready);
  assert.equal(reading.cellOf(done, { level: 2, document: 1, chunk: 1 }).state, "used");
  assert.deepEqual(reading.evidenceOf(done, "e211").by, { level: 2, document: 1, chunk: 1 });
});

test("a reading that ends leaves no chunk half read", () => {
  const log = new ReadingLog();
  const events = [
    log.begin(),
    log.kept(1),
    log.signal("chunk_started", { ...place(2), chunks: 3 }),
    log.signal("content", { ...place(2), text: "x", offset: 0 }),
  ];
  const error = { kind: "stalled", message: "…" };
  const ended = view(...events, log.end({ outcome: "failed", error, chunks_seen: 1, final_memory_sha: null }));
  assert.deepEqual([states(ended), reading.cellOf(ended, place(2)).text], [["kept", "waiting", "waiting"], ""]);
  assert.deepEqual(
    [ended.state, ended.outcome, ended.error, ended.finalMemory, ended.finishedAt],
    ["finished", "failed", error, null, TIME],
  );
  assert.equal(reading.reduce(ended, log.signal("waiting", { reason: "idle", waited_ms: 1 })), ended);
});

test("what concerns the stream is shown until it is over", () => {
  const log = new ReadingLog();
  const seen = view(log.begin());
  const stopping = reading.reduce(seen, log.signal("shutting_down"));
  assert.deepEqual(reading.reconnected(stopping), seen);
  assert.equal(reading.reconnected(seen), seen);
  assert.equal(reading.reduce(stopping, log.signal("waiting", { reason: "idle", waited_ms: 1 })).shuttingDown, false);
  assert.equal(reading.reduce(seen, log.signal("resync", { last_pos: 1 })).outOfDate, true);
  const broken = reading.reduce(seen, log.signal("store_error"));
  assert.deepEqual([broken.storeError, reading.reduce(broken, log.gate(1, false)).storeError], [true, false]);
});

test("unknown events and chunks that there are not are passed over", () => {
  const log = new ReadingLog();
  const seen = view(log.begin());
  for (const type of ["novelty", "constructor"]) assert.equal(reading.reduce(seen, log.signal(type)), seen);
  assert.equal(reading.reduce(seen, log.signal("content", { ...place(9), text: "x", offset: 0 })), seen);
  assert.equal(
    reading.reduce(seen, log.signal("content", { ...place(1, { document: 9 }), text: "x", offset: 0 })),
    seen,
  );
  assert.deepEqual({ ...reading.reduce(seen, log.record("novelty")), lastPos: 12, lastSeq: 2 }, seen);
});

test("what does not change stays the same object", () => {
  const log = new ReadingLog();
  const before = view(log.begin({ ends: [[10, 20], [30]], level: 2 }), log.used(1));
  const after = reading.reduce(before, log.signal("content", { ...place(2), text: "x", offset: 0 }));
  assert.equal(after.passes[0].cells[0], before.passes[0].cells[0]);
  for (const at of [1, 2]) assert.equal(after.passes[at], before.passes[at]);
  for (const part of ["memories", "evidence", "documents", "created"]) assert.equal(after[part], before[part]);
});
