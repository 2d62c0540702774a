import assert from "node:assert/strict";
import { test } from "node:test";
import * as sessions from "../../service/web/dashboard/state/sessions.js";
import { Log, following, frozen } from "./recorded.mjs";

const resource = (id, fields = {}) => ({
  id,
  title: "",
  metadata: {},
  agent: null,
  baseline: { model: null },
  state: "idle",
  running: null,
  queued: [],
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
  parent: null,
  fork: null,
  last_seq: 1,
  ...fields,
});

function listed(...ids) {
  return frozen(sessions.withPage(sessions.emptyList(), { items: ids.map((id) => resource(id)), next: null }));
}

/** A log of a session whose first record the list knows already. */
function logOf(session) {
  const log = new Log(session);
  log.created();
  return log;
}

test("pages are put together, newest first, and a session that is new comes to the front", () => {
  const first = sessions.withPage(sessions.emptyList(), { items: [resource("ses_4"), resource("ses_3")], next: "c" });
  const second = sessions.withPage(first, { items: [resource("ses_3"), resource("ses_1")], next: null });
  const added = sessions.withSession(sessions.withSession(second, resource("ses_5")), resource("ses_2"));
  assert.deepEqual([first.next, second.next], ["c", null]);
  assert.deepEqual(added.order, ["ses_5", "ses_4", "ses_3", "ses_2", "ses_1"]);
});

test("a row follows its session's turns", () => {
  const log = logOf("ses_1");
  const states = [];
  let list = listed("ses_1");
  for (const event of [
    log.user("Hello"),
    log.calls(1, 1, 2),
    log.asked(1, 2),
    log.decided(1, true),
    log.decided(2, true),
    log.finished(),
  ]) {
    list = frozen(sessions.reduce(list, event));
    states.push(`${list.rows.ses_1.state} ${list.rows.ses_1.pendingCount}`);
  }
  assert.deepEqual(states, [
    "running 0",
    "running 0",
    "awaiting_approval 2",
    "awaiting_approval 1",
    "running 0",
    "idle 0",
  ]);
  const { outcome, lastText, updatedAt, lastSeq } = list.rows.ses_1;
  assert.deepEqual([outcome, lastText, updatedAt, lastSeq], ["answered", "Done.", log.finished().time, 7]);
});

test("a session with a queue is not idle between two turns", () => {
  const log = logOf("ses_1");
  const events = [log.user(), log.record("turn_queued", { turn: "trn_2", content: "", options: {} }), log.finished()];
  const between = following(sessions, listed("ses_1"), events);
  assert.deepEqual([between.rows.ses_1.state, between.rows.ses_1.queued], ["running", ["trn_2"]]);
  const after = following(sessions, between, [log.finished({ turn: "trn_2", outcome: "cancelled" })]);
  assert.deepEqual([after.rows.ses_1.state, after.rows.ses_1.outcome], ["idle", "cancelled"]);
});

test("a session waits with its child, and goes on with it", () => {
  const child = resource("ses_2", { parent: { session: "ses_1", turn: "trn_1", call: 1 } });
  const list = frozen(sessions.withSession(listed("ses_1"), child));
  const log = new Log("ses_2");
  log.created();
  const events = [log.user(), log.asked(1)];
  const waiting = following(
    sessions,
    following(
      sessions,
      list,
      [new Log("ses_1")].map((own) => (own.created(), own.user())),
    ),
    events,
  );
  assert.deepEqual([waiting.rows.ses_1.state, waiting.rows.ses_1.pendingCount], ["awaiting_approval", 1]);
  const gone = following(sessions, waiting, [log.result(1, { status: "cancelled" }), log.finished()]);
  assert.deepEqual([gone.rows.ses_1.state, gone.rows.ses_2.state], ["running", "idle"]);
});

test("text changes nothing, nor does what is known already", () => {
  const log = logOf("ses_1");
  const user = log.user();
  const list = following(sessions, listed("ses_1"), [user]);
  assert.equal(sessions.reduce(list, log.signal("content", { step: 1, text: "x", offset: 0 })), list);
  assert.equal(sessions.reduce(list, user), list);
  assert.equal(sessions.reduce(list, log.signal("resync", { session: null, turn: null, last_pos: 3 })), list);
});

test("a session that nobody knows is to be fetched, once", () => {
  const log = new Log("ses_9");
  const named = following(sessions, listed("ses_1"), [log.created(), log.user()]);
  assert.deepEqual([...named.unknown], ["ses_9"]);
  assert.deepEqual([...sessions.withSession(named, resource("ses_9")).unknown], []);
  assert.deepEqual([...sessions.withoutSession(named, "ses_9").unknown], []);
  assert.equal(
    sessions.reduce(named, log.signal("content", { session: "ses_8", step: 1, text: "x", offset: 0 })),
    named,
  );
});

test("an answer that was on its way while events came does not put a row back", () => {
  const log = logOf("ses_1");
  const running = following(sessions, listed("ses_1"), [log.user()]);
  const renamed = sessions.withSession(running, resource("ses_1", { title: "New", last_seq: 1 }));
  assert.deepEqual([renamed.rows.ses_1.state, renamed.rows.ses_1.title], ["running", "New"]);
  const newer = sessions.withSession(running, resource("ses_1", { state: "idle", last_seq: 9 }));
  assert.equal(newer.rows.ses_1.state, "idle");
});

test("a session that is deleted takes those below it along", () => {
  const child = resource("ses_2", { parent: { session: "ses_1", turn: "trn_1", call: 1 } });
  const list = frozen(sessions.withSession(listed("ses_1", "ses_0"), child));
  const left = following(sessions, list, [new Log("ses_1").signal("session_deleted", { turn: null })]);
  assert.deepEqual([left.order, Object.keys(left.rows)], [["ses_0"], ["ses_0"]]);
});

test("what waits is known of pages by the listing of approvals", () => {
  const log = new Log("ses_1");
  const waiting = sessions.withApprovals(listed("ses_1", "ses_0"), { items: [log.pending(1), log.pending(2)] });
  assert.deepEqual([waiting.rows.ses_1.pendingCount, waiting.rows.ses_1.state], [2, "awaiting_approval"]);
  assert.equal(sessions.withApprovals(waiting, { items: [] }).rows.ses_1.pendingCount, 0);
});

test("rows are found by all words of a search in any case", () => {
  const named = [
    resource("ses_2", { title: "Tax Return" }),
    resource("ses_1", { title: "tax", agent: "Desk", metadata: { team: "north" } }),
  ];
  const list = sessions.withPage(sessions.emptyList(), { items: named, next: null });
  const found = (text) => sessions.filtered(list, text).map((row) => row.id);
  assert.deepEqual(found(""), ["ses_2", "ses_1"]);
  assert.deepEqual(found("TAX"), ["ses_2", "ses_1"]);
  assert.deepEqual(found(" desk tax "), ["ses_1"]);
  assert.deepEqual(found("north"), ["ses_1"]);
  assert.deepEqual(found("nowhere"), []);
});
