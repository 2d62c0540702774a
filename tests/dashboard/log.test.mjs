import assert from "node:assert/strict";
import { test } from "node:test";
import { codePoints } from "../../service/web/dashboard/state/text.js";
import { fetchPage, PAGE, pageStartOf } from "../../service/web/dashboard/views/log/pages.js";
import { summaryOf, TYPES } from "../../service/web/dashboard/views/log/summary.js";
import { eventsOf, NAMES, OF_A_READING } from "./recorded.mjs";

const RECORDS = NAMES.filter((name) => !OF_A_READING.includes(name)).flatMap((name) => eventsOf(name, "replay"));
const ALL = { type: "", turn: "" };

test("the types that can be chosen are those that real sessions have", () => {
  assert.deepEqual([...new Set(RECORDS.map(({ type }) => type))].sort(), [...TYPES].sort());
});

test("each record of real sessions is said in one line that is not too long and holds nothing hidden", () => {
  for (const record of RECORDS) {
    const line = summaryOf(record);
    const mayBeEmpty = record.type === "assistant" && record.content === "";
    assert.ok(line !== "" || mayBeEmpty, JSON.stringify(record));
    assert.ok(codePoints(line) <= 141, line);
    assert.doesNotMatch(line, /[\p{Cc}\p{Cf}\p{Cs}]|undefined|null|NaN|\[object/u, record.type);
  }
});

test("what a record says is said in words", () => {
  const said = {
    "2 tools, thinking on · copied up to 5 of ses_9": {
      type: "session_created",
      agent: null,
      baseline: { tools: { names: ["a", "b"] }, thinking: "on" },
      fork: { session: "ses_9", seq: 5 },
    },
    "agent desk · 1 tool, thinking off · made for call 3 of ses_8": {
      type: "session_created",
      agent: "desk",
      baseline: { tools: { names: ["a"] }, thinking: "off" },
      parent: { session: "ses_8", turn: "trn_1", call: 3 },
    },
    "calls look, send · Let me see": {
      type: "assistant",
      content: "Let me see",
      reasoning: "",
      tool_calls: [{ name: "look" }, { name: "send" }],
      finish_reason: "tool_calls",
    },
    "reasoning only · ended by length": {
      type: "assistant",
      content: "",
      reasoning: "Well",
      tool_calls: [],
      finish_reason: "length",
    },
    "prompt 1,000 (0 cached) · wrote 7 tokens · 5 of them reasoning · 12.3 tokens/s · discarded": {
      type: "usage",
      prompt_tokens: 1000,
      cached_tokens: 0,
      completion_tokens: 7,
      reasoning_tokens: 5,
      timings: { predicted_per_second: 12.345 },
      discarded: true,
    },
    "1 token evaluated again: slot taken": { type: "cache_loss", lost_tokens: 1, reason: "slot_taken" },
    "call 2 denied by bob · signed as ops · Not this one": {
      type: "approval_decided",
      call: 2,
      approved: false,
      by: "bob",
      reason: "Not this one",
      signature: { key: "ops" },
    },
    "call 1: look bad arguments · untrusted · no": {
      type: "tool_result",
      call: 1,
      name: "look",
      status: "bad_arguments",
      untrusted: true,
      content: "no",
    },
    "call 1: deleted": { type: "handoff_returned", call: 1, outcome: null, content: null },
    "failed after 2 steps · context full: no room": {
      type: "turn_finished",
      outcome: "failed",
      limit: null,
      error: { kind: "context_full", message: "no room" },
      steps: 2,
      content: null,
    },
  };
  for (const [line, record] of Object.entries(said)) assert.equal(summaryOf(record), line);
});

test("hidden characters and line ends are escapes, and a long text is cut between characters", () => {
  assert.equal(summaryOf({ type: "user", content: "a\nb\u202ec\0" }), "a\\nb\\u202ec\\u0000");
  assert.equal(summaryOf({ type: "user", content: "🚀".repeat(1000) }), `${"🚀".repeat(140)}…`);
});

test("a type that is not known says nothing, also one that is a name of JavaScript's", () => {
  for (const type of ["new_type", "constructor", "__proto__", "toString"]) assert.equal(summaryOf({ type }), "");
});

/** A log over HTTP: `length` records, every third of them an answer, ten a turn. */
function served(length) {
  const asked = [];
  const recordAt = (seq) => ({ seq, type: seq % 3 ? "user" : "assistant", turn: `trn_${Math.ceil(seq / 10)}` });
  const get = async (path) => {
    asked.push(path);
    const query = new URL(path, "http://here/").searchParams;
    const after = Number(query.get("after") ?? 0);
    const end = Math.min(length, after + Number(query.get("limit")));
    const seqs = Array.from({ length: end - after }, (_, at) => after + at + 1);
    return { items: seqs.map(recordAt), hashes: seqs.map((seq) => `hash ${seq}`), next: end < length ? end : null };
  };
  return { api: { get }, asked };
}

const seqsOf = ({ rows }) => rows.map(({ record }) => record.seq);

test("a page is 200 records with their hashes, in one request", async () => {
  const { api, asked } = served(450);
  const page = await fetchPage(api, "ses 1/?", { after: 200, filter: ALL });

  assert.deepEqual(asked, ["sessions/ses%201%2F%3F/records?limit=200&after=200"]);
  assert.deepEqual([seqsOf(page).at(0), seqsOf(page).at(-1), page.rows.length], [201, 400, PAGE]);
  assert.deepEqual([page.from, page.to, page.atEnd, page.rows[0].hash], [200, 400, false, "hash 201"]);
});

test("the last page knows that it is the last, also when it is full or empty", async () => {
  for (const [length, after, to] of [
    [450, 400, 450],
    [400, 200, 400],
    [400, 400, 400],
  ]) {
    const page = await fetchPage(served(length).api, "s", { after, filter: ALL });
    assert.deepEqual([page.atEnd, page.to, page.rows.length], [true, to, to - after]);
  }
});

test("what is filtered is looked for on and on until a page is full, and says how far it came", async () => {
  const { api, asked } = served(2000);
  const looked = [];
  const page = await fetchPage(api, "s", {
    after: 0,
    filter: { type: "assistant", turn: "" },
    onLooked: (seq) => looked.push(seq),
  });

  assert.deepEqual(seqsOf(page), Array.from({ length: PAGE }, (_, at) => 3 * (at + 1)));
  assert.deepEqual([page.to, page.atEnd, asked.length, looked], [600, false, 3, [200, 400]]);
  const next = await fetchPage(api, "s", { after: page.to, filter: { type: "assistant", turn: "" } });
  assert.equal(seqsOf(next)[0], 603);
});

test("looking ends where the turn ends that is asked for", async () => {
  const { api, asked } = served(2000);
  const page = await fetchPage(api, "s", { after: 20, filter: { type: "", turn: "trn_3" }, upTo: 30 });

  assert.deepEqual(seqsOf(page), [21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
  assert.deepEqual([page.atEnd, asked.length], [true, 1]);
});

test("nothing found is an empty page that was looked through to the end", async () => {
  const page = await fetchPage(served(450).api, "s", { after: 0, filter: { type: "summary", turn: "" } });
  assert.deepEqual([page.rows, page.from, page.to, page.atEnd], [[], 0, 450, true]);
});

test("a record is on the page that begins in front of it", () => {
  const starts = [-5, 0, 1, 200, 201, 400, 401, 10_000].map(pageStartOf);
  assert.deepEqual(starts, [0, 0, 0, 0, 200, 200, 400, 9800]);
});
